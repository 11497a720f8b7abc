const sheet = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const SLIDER = sheet.questions.find(question => question.kind === "slider");
const FLAGS = sheet.questions.filter(question => question.kind === "flag");
const RETRY = 2000; // milliseconds
const PAUSE = 1500; // milliseconds after which a digit begins another number
const annotator = new URLSearchParams(location.search).get("annotator") || "";
// Answers that the server has not confirmed stay in the browser, so that a reload or a stopped server loses none.
const STORE = `annotate:${sheet.id}:${annotator}`;
let typed = "", typedAt = 0; // the digits of a number
let unsaved = {}, storing = true, pages = [], page = null, active = 0, sending = null, busy = false, loading = false;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

class Refused extends Error {} // by the server, which would refuse it again

async function ask(path, options) {
  const reply = await fetch(path, options);
  const said = await reply.json();
  if (reply.ok) return said;
  throw new (reply.status < 500 ? Refused : Error)(said.error || `status ${reply.status}`);
}

const get = (path, values = {}) => ask(`${path}?${new URLSearchParams({sheet: sheet.id, annotator, ...values})}`);
const post = values => ask("/answers", {method: "POST", headers: {"Content-Type": "application/json"},
  body: JSON.stringify({sheet: sheet.id, annotator, ...values})});

function stored(change) { // another tab may have stored answers, too
  try {
    const all = JSON.parse(localStorage.getItem(STORE) || "{}");
    change(all);
    localStorage.setItem(STORE, JSON.stringify(all));
    storing = true;
    return all;
  } catch { storing = false; return unsaved; } // a browser that stores nothing, or no more
}

function keep(item, answers) {
  unsaved[item] = answers;
  stored(all => { all[item] = answers; });
  send();
}

function send() { // ends when the server has everything, or has refused what is left; says which
  sending ??= flush().finally(() => { sending = null; });
  return sending;
}

async function flush() {
  for (;;) {
    let wait = null, refused = null;
    for (const [item, answers] of Object.entries(unsaved)) {
      const sent = JSON.stringify(answers);
      try {
        await post({item, answers});
        if (JSON.stringify(unsaved[item]) === sent) delete unsaved[item];
        stored(all => { if (JSON.stringify(all[item]) === sent) delete all[item]; });
      } catch (error) {
        if (error instanceof Refused) refused = error.message;
        else wait = error instanceof TypeError ? "the server does not answer" : error.message;
      }
    }
    if (!Object.keys(unsaved).length) { tell("Saved.", false); return true; }
    if (wait) {
      const where = storing ? "Your answers wait in this browser." : "Keep this page open until they are.";
      tell(`Not saved (${wait}). ${where}`, true);
      await new Promise(done => setTimeout(done, RETRY));
    } else if (refused) { tell(`Not saved: ${refused}`, true); return false; }
  }
}

function tell(text, failed) {
  at("saved").textContent = text;
  at("saved").classList.toggle("failed", failed);
}

async function patiently(work) { // a server that is being started again answers after a while
  for (;;) {
    try { return await work(); }
    catch (error) {
      if (error instanceof Refused) { tell(error.message, true); throw error; }
      tell("The server does not answer. Waiting for it.", true);
      await new Promise(done => setTimeout(done, RETRY));
    }
  }
}

function tellProgress(found) {
  at("progress").textContent = `${found.done} ${found.done === 1 ? "page" : "pages"} done, ${found.left} left`;
  at("bar").max = Math.max(found.done + found.left, 1);
  at("bar").value = found.done;
}

async function show(number, found) {
  const unconfirmed = {...unsaved}; // the server may have read the page before these, and confirm them before the page is here
  page = await patiently(() => get("/page", {page: number}));
  if (found) tellProgress(found);
  for (const item of page.items) Object.assign(item.answers, unconfirmed[item.item], unsaved[item.item]);
  at("work").hidden = false;
  at("done").hidden = true;
  at("reference").textContent = page.reference;
  at("items").replaceChildren(...page.items.map(drawn));
  at("missing").textContent = "";
  at("previous").disabled = pages.indexOf(number) < 1;
  activate(Math.max(0, places().findIndex(place => place.answers[place.question] === undefined)));
  scrollTo(0, 0);
}

async function alone(work) { // one at a time
  if (busy) return;
  busy = true;
  try { await work(); }
  catch (error) { if (!(error instanceof Refused)) throw error; }
  finally { busy = loading = false; }
}

async function next() {
  const lacking = page === null ? [] : places().filter(place => place.answers[place.question] === undefined);
  if (lacking.length) {
    at("missing").textContent = `${lacking.length} of ${places().length} questions ${lacking.length === 1 ? "has" : "have"} no answer yet.`;
    activate(places().findIndex(place => place.answers[place.question] === undefined));
    return;
  }
  const later = page === null ? undefined : pages[pages.indexOf(page.page) + 1];
  if (later === undefined && page !== null && Object.keys(unsaved).length && !(await send())) return;
  loading = true; // keys wait until the page is there
  if (later !== undefined) return show(later);
  const found = await patiently(() => get("/next"));
  pages = [...new Set([...found.begun, ...pages])];
  if (found.page === null) {
    page = null;
    tellProgress(found);
    at("work").hidden = true;
    at("done").hidden = false;
    at("thanks").textContent = `Thank you, ${annotator}!`;
    at("over").textContent = found.reserved ? `No page is free now. Others are at work on ${found.reserved} more: reload this page `
      + "in half an hour, and you get those that they have not finished."
      : `All pages are done, ${found.done} of them by you, and every answer is saved. You can close this page.`;
    at("back").hidden = !pages.length;
    return;
  }
  if (!pages.includes(found.page)) pages.push(found.page);
  await show(found.page, found);
}

async function previous() {
  const number = page === null ? pages.length : pages.indexOf(page.page);
  loading = true;
  if (number > 0) await show(pages[number - 1]);
}

// A place is a question that must be answered: one of each text on a page with a slider, else one of each question.
function places() {
  return page.items.flatMap(item => sheet.required.map(question => ({item: item.item, answers: item.answers, question})));
}

function activate(number) {
  active = Math.min(Math.max(number, 0), places().length - 1);
  typed = "";
  const place = places()[active];
  document.querySelectorAll(".active").forEach(one => one.classList.remove("active"));
  const box = at(`${SLIDER ? "item" : place.question}-${place.item}`);
  box.classList.add("active");
  const input = box.querySelector("input:checked") || box.querySelector("input");
  input.focus({preventScroll: true});
  box.scrollIntoView({block: "nearest"});
}

function answer(item, name, value) {
  item.answers[name] = value;
  for (const flag of FLAGS) item.answers[flag.name] ??= 0;
  at("missing").textContent = "";
  const given = JSON.stringify(item.answers); // a click on a slider is also a change
  if (given !== item.given) keep(item.item, {...item.answers});
  item.given = given;
}

function slide(item, question) {
  const input = element("input", {type: "range", min: 0, max: 100, step: 1, id: `${question.name}-${item.item}`,
    "aria-label": question.asks});
  const output = element("output", {htmlFor: input.id});
  const box = element("div", {className: "slide"}, input, output);
  const [low, high] = [question.levels[0], question.levels[100]];
  const told = () => {
    const value = item.answers[question.name];
    input.value = value ?? 50;
    output.textContent = value ?? "–";
    box.classList.toggle("open", value === undefined);
    input.setAttribute("aria-valuetext", value === undefined ? "no answer yet" : String(value));
  };
  input.addEventListener("input", () => { item.answers[question.name] = Number(input.value); told(); });
  input.addEventListener("change", () => { answer(item, question.name, Number(input.value)); told(); });
  input.addEventListener("click", () => { answer(item, question.name, Number(input.value)); told(); });
  input.addEventListener("set", event => { answer(item, question.name, event.detail); told(); });
  told();
  return [box, element("div", {className: "ends"}, element("span", {}, `0: ${low}`), element("span", {}, `100: ${high}`))];
}

function flag(item, question) {
  const input = element("input", {type: "checkbox", checked: item.answers[question.name] === 1, id: `${question.name}-${item.item}`});
  input.addEventListener("change", () => answer(item, question.name, input.checked ? 1 : 0));
  return element("label", {}, input, ` ${question.asks}`);
}

function levels(item, question) {
  const rows = Object.entries(question.levels).sort(([a], [b]) => b - a).map(([level, meaning]) => {
    const input = element("input", {type: "radio", name: `${question.name}-${item.item}`, value: level,
      checked: item.answers[question.name] === Number(level)});
    input.addEventListener("change", () => answer(item, question.name, Number(level)));
    return element("label", {className: "level"}, input, element("b", {}, level), ` ${meaning}`);
  });
  return element("fieldset", {id: `${question.name}-${item.item}`}, element("legend", {}, question.asks), ...rows);
}

function drawn(item) {
  const box = element("div", {className: "item", id: `item-${item.item}`}, element("p", {dir: "auto"}, item.paraphrase));
  if (SLIDER) {
    box.append(...slide(item, SLIDER), element("div", {className: "flags"}, ...FLAGS.map(question => flag(item, question))));
  } else {
    box.append(...sheet.questions.map(question => levels(item, question)));
  }
  box.addEventListener("focusin", event => {
    const number = places().findIndex(place => place.item === item.item
      && (SLIDER || event.target.closest(`#${place.question}-${place.item}`)));
    if (number >= 0 && number !== active) {
      active = number;
      typed = "";
      document.querySelectorAll(".active").forEach(one => one.classList.remove("active"));
      (SLIDER ? box : event.target.closest("fieldset")).classList.add("active");
    }
  });
  return box;
}

function set(value) { // the active question
  const place = places()[active];
  if (SLIDER) { at(`${SLIDER.name}-${place.item}`).dispatchEvent(new CustomEvent("set", {detail: value})); return; }
  const radio = at(`${place.question}-${place.item}`).querySelector(`input[value="${value}"]`);
  if (radio) { radio.click(); activate(active + 1); }
}

function typedNumber(digit, now) { // tens, then ones: 7 is 70, and 75 with a 5 behind it
  const longer = now - typedAt < PAUSE ? typed + digit : digit;
  typed = /^(\d\d?|100)$/.test(longer) ? longer : digit;
  typedAt = now;
  return typed.length === 1 ? Number(typed) * 10 : Number(typed);
}

document.addEventListener("keydown", event => {
  if (page === null || loading || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("button, summary, a")) return;
  const flagged = FLAGS.find(question => question.name[0] === event.key.toLowerCase());
  if (/^[0-9]$/.test(event.key)) set(SLIDER ? typedNumber(event.key, event.timeStamp) : event.key);
  else if (flagged) at(`${flagged.name}-${places()[active].item}`).click();
  else if (event.key === "ArrowDown") activate(active + 1);
  else if (event.key === "ArrowUp") activate(active - 1);
  else if (event.key === "Enter" && active < places().length - 1) activate(active + 1);
  else if (event.key === "Enter") alone(next);
  else if (event.key === "p") alone(previous);
  else return;
  event.preventDefault();
});

function begin() {
  const texts = SLIDER ? "some paraphrases of it" : "a paraphrase of it";
  at("task").textContent = `Each page has a sentence, the reference, and ${texts}, written by machines. You say:`;
  at("questions").append(...sheet.questions.map(question => element("li", {}, element("b", {}, `${question.asks}${question.kind === "flag" ? ":" : ""}`), ` ${{
    slider: `A number from 0 (${question.levels[0]}) to 100 (${question.levels[100]}).`,
    levels: Object.entries(question.levels).sort(([a], [b]) => b - a).map(([level, meaning]) => `${level}: ${meaning}`).join("; ") + ".",
    flag: "tick the box where it is so.",
  }[question.kind]}`)));
  at("length").textContent = `There are ${sheet.pages} pages with ${sheet.texts} paraphrases, which take at most about ${sheet.minutes} `
    + "minutes. Stop whenever you like: each answer is saved at once.";
  at("example-reference").textContent = sheet.example[0];
  at("example").append(...sheet.example[1].flatMap(([text, judged]) => [element("dt", {}, text), element("dd", {}, judged)]));
  at("start").hidden = false;
  at("annotator").focus({preventScroll: true});
}

const HELP = SLIDER
  ? ["Type the tens, then the ones: 7 is 70, 7 5 is 75, 0 5 is 5, 1 0 0 is 100. The arrows left and right move by one.",
    ...FLAGS.map(question => `${question.name[0]}: ${question.asks}.`),
    "Enter or the arrow down: next paraphrase, and after the last one the next page.", "Arrow up: back. p: previous page."]
  : ["A digit answers and goes to the next question.", "Arrows up and down: another question.",
    "Enter after the last question: next page. p: previous page."];
at("ask").textContent = SLIDER ? SLIDER.asks : "";
at("help").open = matchMedia("(min-width: 40rem)").matches;
at("keys").append(...HELP.map(text => element("li", {}, text)));
at("next").addEventListener("click", () => alone(next));
at("previous").addEventListener("click", () => alone(previous));
at("back").addEventListener("click", () => alone(previous));
at("name").addEventListener("submit", event => {
  event.preventDefault();
  location.search = new URLSearchParams({annotator: at("annotator").value.trim()});
});

addEventListener("storage", event => { if (event.key === STORE) unsaved = JSON.parse(event.newValue || "{}"); });
addEventListener("beforeunload", event => { if (!storing && Object.keys(unsaved).length) event.preventDefault(); });

at("another").addEventListener("click", event => { // whoever comes next would not send them
  if (!Object.keys(unsaved).length) return;
  event.preventDefault();
  tell("Wait until your answers are saved.", true);
});

if (!annotator) {
  begin();
} else {
  at("status").hidden = false;
  at("who").textContent = annotator;
  unsaved = stored(() => {});
  if (Object.keys(unsaved).length) send();
  await alone(next);
}
