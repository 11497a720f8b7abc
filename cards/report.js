// The data are JSON, compressed and spelled in base64, so that five thousand references of any text fit in a page.
const packed = Uint8Array.from(atob(document.getElementById("data").textContent), letter => letter.charCodeAt(0));
const data = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
const names = Object.keys(data.scores);
const bins = names.length ? data.scores[names[0]].pairs.length : 0;
const PAGE = 25, SHOWN = 4, SAMPLE = 6;
const [ID, REFERENCE, LANG, SOURCE, SOURCE_LANG, PARAPHRASES, LOSERS, MORE] = [0, 1, 2, 3, 4, 5, 6, 7];
const count = new Intl.NumberFormat("en-GB");
const at = id => document.getElementById(id);
// A threshold is the number of the bin edge: all pairs remain at 0 for "at least", at the last edge for "at most".
const edge = Object.fromEntries(names.map(name => [name, data.scores[name].most ? bins : 0]));
let last = null, page = 0, rows = data.rows;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const open = name => edge[name] === (data.scores[name].most ? bins : 0);
const limit = name => Number((data.scores[name].least + data.scores[name].width * edge[name]).toFixed(6));
const shown = value => Number(value.toFixed(3)).toString();
const inBin = (name, bin) => data.scores[name].most ? bin < edge[name] : bin >= edge[name];

function passes(scores) {
  return names.every((name, place) => open(name) || (scores[place] !== null
    && (data.scores[name].most ? scores[place] < limit(name) : scores[place] >= limit(name))));
}

// Words as a reader sees them, an emoji whole; in scripts without spaces every character is one.
const MARKS = String.raw`[\p{M}\p{Emoji_Modifier}]*`;
const WORD = new RegExp(String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]\p{M}*`
  + String.raw`|[\p{L}\p{M}\p{N}]+(?:['’\u200c\u200d-][\p{L}\p{M}\p{N}]+)*|\p{RI}\p{RI}|\S${MARKS}(?:\u200d\S${MARKS})*`, "gu");

function common(a, b) { // which words of b are in a longest common subsequence with a
  const length = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const kept = new Set();
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { kept.add(j); i++; j++; }
    else if (length[i + 1][j] >= length[i][j + 1]) i++;
    else j++;
  }
  return kept;
}

function marked(reference, text) {
  const before = (reference.match(WORD) || []).map(word => word.toLowerCase());
  const words = [...text.matchAll(WORD)];
  const kept = common(before, words.map(word => word[0].toLowerCase()));
  const parts = [];
  let end = 0;
  words.forEach((word, place) => {
    parts.push(text.slice(end, word.index));
    parts.push(kept.has(place) ? word[0] : element("mark", {}, word[0]));
    end = word.index + word[0].length;
  });
  parts.push(text.slice(end));
  return element("span", {dir: "auto"}, ...parts);
}

function told(scores) { // on demand
  const box = element("details", {className: "scores"}, element("summary", {}, "scores"));
  box.addEventListener("toggle", () => box.append(element("dl", {}, ...names.flatMap((name, place) => scores[place] === null ? []
    : [element("dt", {}, `${data.scores[name].label} `, element("b", {}, shown(scores[place]))),
      element("dd", {}, data.scores[name].meaning)]))), {once: true});
  return box;
}

function slider(name) {
  const score = data.scores[name], most = Math.max(...score.pairs);
  const bars = score.pairs.map((pairs, bin) =>
    `<rect x="${bin * 2}" y="${30 - 30 * pairs / most}" width="1.8" height="${30 * pairs / most}"></rect>`).join("");
  const svg = `<svg viewBox="0 0 ${bins * 2} 30" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>`;
  const input = element("input", {type: "range", id: `score-${name}`, min: 0, max: score.most ? bins : bins - 1, step: 1,
    value: edge[name]}); // scores at the end of the range are in the last bin, so "at least" has no threshold above it
  input.addEventListener("input", () => { edge[name] = Number(input.value); last = name; update(); });
  input.setAttribute("aria-label", `${score.label}, ${score.most ? "below" : "at least"}`);
  const box = element("div", {className: "slider", id: `slider-${name}`}, element("details", {},
    element("summary", {}, score.label), element("p", {}, `${score.meaning} The highest bar has ${count.format(most)} pairs.`)));
  box.insertAdjacentHTML("beforeend", svg);
  box.append(input, element("div", {className: "axis"}, element("span", {}, shown(score.least)),
    element("output", {htmlFor: input.id}), element("span", {}, shown(score.least + bins * score.width))));
  return box;
}

function remain(name) { // exactly, of the whole parabank
  return data.scores[name].pairs.reduce((sum, pairs, bin) => sum + (inBin(name, bin) ? pairs : 0), 0);
}

function update() {
  for (const name of names) {
    const box = at(`slider-${name}`), input = box.querySelector("input");
    box.querySelectorAll("rect").forEach((rect, bin) => rect.classList.toggle("in", inBin(name, bin)));
    const said = open(name) ? "no threshold" : `${data.scores[name].most ? "below" : "at least"} ${shown(limit(name))}: ${count.format(remain(name))} pairs`;
    box.querySelector("output").textContent = said;
    input.setAttribute("aria-valuetext", said);
    input.value = edge[name];
  }
  const set = names.filter(name => !open(name));
  const pairs = data.rows.flatMap(row => row[PARAPHRASES].map(one => one[1]));
  const left = pairs.filter(passes).length;
  const share = pairs.length ? left / pairs.length : 0;
  let text = `All ${count.format(data.total)} pairs remain.`;
  if (set.length === 1) {
    text = `${count.format(remain(set[0]))} of ${count.format(data.total)} pairs remain, counted in the whole parabank.`;
  } else if (set.length && pairs.length === data.total) {
    text = `${count.format(left)} of ${count.format(data.total)} pairs remain.`;
  } else if (set.length) { // the pairs of a reference are not independent, so the error is that over references
    const rest = data.rows.map(row => row[PARAPHRASES].reduce((sum, one) => sum + (passes(one[1]) ? 1 : 0) - share, 0));
    const spread = 1.96 * Math.sqrt(rest.reduce((sum, one) => sum + one * one, 0)) / Math.max(pairs.length, 1) * data.total;
    text = `About ${count.format(Math.round(share * data.total))} ± ${count.format(Math.round(spread))} of `
      + `${count.format(data.total)} pairs remain, estimated from the ${count.format(pairs.length)} pairs of the sample.`;
  }
  at("remaining").textContent = text;
  at("reset").hidden = !set.length;
  commands(set);
  threshold();
  document.querySelectorAll("ol.paraphrases li").forEach(one => one.classList.toggle("gone", !passes(one.scores)));
}

function commands(set) {
  const columns = set.filter(name => data.columns.includes(name));
  const filters = columns.map(name => `("${name}", "${data.scores[name].most ? "<" : ">="}", ${shown(limit(name))})`);
  const where = set.map(name => `${name} ${data.scores[name].most ? "<" : ">="} ${shown(limit(name))}`).join(" and ");
  const quoted = text => /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  at("python").textContent = `load_dataset(${JSON.stringify(data.path)}, filters=[${filters.join(", ")}])`;
  at("shell").textContent = `parabank filter parabank ${quoted(data.path)} --where "${where}" `
    + `--output_dir ${quoted(`${data.path}-chosen`)}`;
  at("python").parentElement.hidden = !set.length || columns.length < set.length;
  const without = set.filter(name => !columns.includes(name));
  at("no-column").textContent = without.length
    ? `load_dataset cannot choose by ${without.join(" and ")}, which is computed from columns.` : "";
  at("shell").parentElement.hidden = !set.length || !data.again;
  at("again").hidden = at("shell").parentElement.hidden;
}

function threshold() {
  const box = at("threshold");
  box.replaceChildren();
  if (last === null || open(last)) return;
  const place = names.indexOf(last), where = limit(last);
  const pairs = data.rows.flatMap(row => row[PARAPHRASES].map(one => [row[REFERENCE], one[0], one[1][place], row[LANG]]))
    .filter(pair => pair[2] !== null);
  const near = (side, order) => pairs.filter(side).sort(order).slice(0, SHOWN);
  const below = near(pair => pair[2] < where, (a, b) => b[2] - a[2]), above = near(pair => pair[2] >= where, (a, b) => a[2] - b[2]);
  const [first, second] = data.scores[last].most ? [below, above] : [above, below];
  for (const [head, some] of [[`Just inside the threshold: ${data.scores[last].label}`, first], ["Just outside", second]]) {
    box.append(element("h3", {}, head), element("ul", {}, ...some.map(([reference, text, score, lang]) =>
      element("li", {}, element("div", {className: "reference", dir: "auto", lang}, reference), marked(reference, text),
        element("span", {className: "scores"}, shown(score))))));
  }
}

function why(reason) {
  const meaning = data.reasons[reason];
  return meaning || reason || "not chosen";
}

function drawn(row) {
  const reference = element("td", {},
    element("div", {dir: "auto", lang: row[LANG]}, row[REFERENCE]),
    element("div", {className: "source", dir: "auto", lang: row[SOURCE_LANG] || ""}, row[SOURCE] || ""),
    element("div", {className: "id"}, row[ID]));
  const list = element("ol", {className: "paraphrases"}, ...row[PARAPHRASES].map(([text, scores]) =>
    Object.assign(element("li", {className: passes(scores) ? "" : "gone", lang: row[LANG]},
      marked(row[REFERENCE], text), told(scores)), {scores})));
  const cell = element("td", {}, row[PARAPHRASES].length ? list : element("p", {className: "more"}, "No paraphrase was kept."));
  const more = Object.entries(row[MORE]);
  if (row[LOSERS].length) {
    const all = row[LOSERS].length + more.reduce((sum, [, number]) => sum + number, 0);
    cell.append(element("details", {},
      element("summary", {}, `${count.format(all)} ${all === 1 ? "candidate" : "candidates"} that lost, with the reason`),
      element("ul", {className: "losers"}, ...row[LOSERS].map(([text, reason, scores]) =>
        element("li", {lang: row[LANG]}, marked(row[REFERENCE], text), " ",
          element("span", {className: "reason"}, why(reason)), told(scores)))),
      element("p", {className: "more"}, more.length
        ? "And " + more.map(([reason, number]) => `${count.format(number)}: ${why(reason)}`).join("; ") + "." : "")));
  }
  return element("tr", {}, reference, cell);
}

function draw() {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  at("rows").tBodies[0].replaceChildren(...rows.slice(page * PAGE, (page + 1) * PAGE).map(drawn));
  at("page").textContent = `Page ${page + 1} of ${pages}`;
  at("previous").disabled = page === 0;
  at("next").disabled = page === pages - 1;
  at("none").hidden = rows.length > 0 || !data.rows.length;
  at("found").textContent = `${count.format(rows.length)} of ${count.format(data.rows.length)} references`;
}

const ORDERS = {
  "with a paraphrase first": (a, b) => (b[PARAPHRASES].length > 0) - (a[PARAPHRASES].length > 0),
  "by chance": null,
  "longest reference first": (a, b) => b[REFERENCE].length - a[REFERENCE].length,
  "most paraphrases first": (a, b) => b[PARAPHRASES].length - a[PARAPHRASES].length,
  "no paraphrase first": (a, b) => a[PARAPHRASES].length - b[PARAPHRASES].length,
};
names.forEach((name, place) => {
  const least = row => Math.min(...row[PARAPHRASES].map(one => one[1][place] ?? Infinity), Infinity);
  ORDERS[`lowest first: ${data.scores[name].label}`] = (a, b) => least(a) === least(b) ? 0 : least(a) - least(b);
});

function choose() {
  const wanted = at("search").value.trim().toLowerCase();
  const texts = row => [row[ID], row[REFERENCE], row[SOURCE] || "", ...row[PARAPHRASES].map(one => one[0])];
  rows = wanted ? data.rows.filter(row => texts(row).some(text => text.toLowerCase().includes(wanted))) : [...data.rows];
  const order = ORDERS[at("sort").value];
  if (order) rows.sort(order);
  page = 0;
  draw();
}

function turn(pages) { page += pages; draw(); at("rows").focus({preventScroll: true}); at("tools").scrollIntoView(); }

at("sample").append(...data.rows.filter(row => row[PARAPHRASES].length).slice(0, SAMPLE).map(row => element("li", {lang: row[LANG]},
  element("p", {className: "reference", dir: "auto"}, row[REFERENCE]),
  element("p", {dir: "auto"}, marked(row[REFERENCE], row[PARAPHRASES][0][0])))));
at("sliders").append(...names.map(slider));
at("scores").open = matchMedia("(min-width: 60rem)").matches;
at("reset").addEventListener("click", () => {
  for (const name of names) edge[name] = data.scores[name].most ? bins : 0;
  update();
});
at("sort").append(...Object.keys(ORDERS).map(name => element("option", {value: name}, name)));
at("search").addEventListener("input", choose);
at("sort").addEventListener("change", choose);
at("tools").addEventListener("submit", event => event.preventDefault());
at("previous").addEventListener("click", () => turn(-1));
at("next").addEventListener("click", () => turn(1));
document.querySelectorAll("[data-copy]").forEach(button => button.addEventListener("click", async () => {
  const code = at(button.dataset.copy);
  try { await navigator.clipboard.writeText(code.textContent); }
  catch { getSelection().selectAllChildren(code); document.execCommand("copy"); }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}));
document.addEventListener("keydown", event => {
  if (event.target.matches("input[type=search], select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); at("search").focus(); }
  if (event.key === "n" && !at("next").disabled) turn(1);
  if (event.key === "p" && !at("previous").disabled) turn(-1);
});
choose();
update();
