"""What every page of the toolkit must bear: texts of all scripts, hostile ones, a phone, dark mode, a screen reader."""

TEXTS = {  # by language
    "en": "It's \"quoted\" & <b>bold</b>, O'Neil said.",
    "zh": "我们现在回家，好吗？",
    "ar": "سوف نعود إلى البيت الآن.",
    "hi": "हम अभी घर जा रहे हैं।",
    "de": "Prima 👩‍👩‍👧 👍🏽 🇩🇪!",
    "fr": "</script><script>window.ran = 1</script>",
    "es": "</textarea></style><img src=x onerror='window.ran = 1'>",
    "it": '{{ 7 * 7 }} javascript:window.ran=1 " onfocus="window.ran = 1" autofocus x="',
    "pt": "left \u202eright\u2066 open\u2028and a line",
    "nl": "W" * 150,
}
CONTRAST = 4.5  # WCAG 2.2, 1.4.3: of text

LOW_CONTRAST = """least => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const pixel = colours => {
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const weights = [0.2126, 0.7152, 0.0722];
  const luminance = rgb => rgb.reduce((sum, part, place) => sum + linear(part / 255) * weights[place], 0);
  const low = [];
  for (const box of document.body.querySelectorAll("*")) {
    const own = [...box.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !box.checkVisibility() || box.closest("script, style, option, noscript, :disabled")) continue;
    const grounds = [];
    for (let one = box; one; one = one.parentElement) grounds.unshift(getComputedStyle(one).backgroundColor);
    const ground = luminance(pixel(["white", ...grounds]));
    const ink = luminance(pixel(["white", ...grounds, getComputedStyle(box).color]));
    const contrast = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    if (contrast < least) low.push(`${box.tagName} ${box.className} ${box.textContent.slice(0, 30)}: ${contrast}`);
  }
  return [...new Set(low)];
}"""
UNNAMED = """() => {
  const named = control => control.textContent.trim() || control.getAttribute("aria-label")
    || [...control.labels || []].some(label => label.textContent.trim())
    || document.getElementById(control.getAttribute("aria-labelledby"))?.textContent.trim();
  const controls = document.querySelectorAll("input, select, button, summary, a, progress, textarea, output");
  const unnamed = [...controls].filter(control => control.checkVisibility() && !named(control));
  return unnamed.map(control => control.outerHTML);
}"""


def check_page(page):
    """Check an open page as it is now: no text ran, and it can be read and used: light, dark, on a phone."""
    assert page.evaluate("window.ran") is None and page.locator("img").count() == 0
    assert page.evaluate(UNNAMED) == []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(LOW_CONTRAST, CONTRAST) == [], scheme
    size = page.viewport_size
    for width in (390, 800):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size(size)
