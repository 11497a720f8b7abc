// The search reads its index by a request, which browsers refuse to a page that was opened from the disk.
if (location.protocol === "file:") {
  for (const part of document.querySelectorAll(".md-search, [for=__search]")) part.style.display = "none";
}
