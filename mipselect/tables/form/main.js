// The page: its rows, what a person does to them, and the file that comes of it.

const page = JSON.parse(byId("schema").textContent);
const schema = withWideNumbers(page.content, page.mark);
const tableMissing = { first: linesOfEntries(schema.missingValues ?? [], false) };
tableMissing.text = tableMissing.first;

const rows = schema.fields.map((original) => {
  const first = { ...cellsOf(original, schema[PERSON]), used: true };
  return { original, first, cells: { ...first } };
});
const elements = rows.map(rowElement);
let isSaved = true;

// Check everything, show it beside the cells, and return what there is to do.
function checked() {
  const { content, faults: unreadable } = contentOf(schema, rows, tableMissing);
  const { faults, gaps } = verdict(content);
  const mistakes = [...unreadable, ...faults];
  let lacking = 0;
  rows.forEach((row, place) => {
    const wrong = mistakes.filter((fault) => fault.place === place);
    // What cannot be read is not in the field, so that it would seem to be lacking too.
    const isJudged = row.cells.used && !unreadable.some((fault) => fault.place === place);
    const lack = isJudged ? lackOf(content.fields[place], gaps[place]) : [];
    lacking += lack.length;
    showMessages(elements[place], [...wrong.map(asMistake), ...lack]);
    elements[place].classList.toggle("open", wrong.length + lack.length > 0);
  });
  showMessage(byId("message-table"), mistakes.filter((fault) => fault.place < 0).map(asMistake));
  showSummary(lacking, mistakes.length);
  return { content, mistakes };
}

const asMistake = (fault) => ({ ...fault, level: "mistake" });

function showSummary(lacking, mistakes) {
  const unused = rows.filter((row) => !row.cells.used).map((row) => row.original.name);
  const proposed = rows.filter((row) => !row.cells.confirmed).length;
  const counts = { fields: rows.length, lacking, mistakes, proposed, unused: unused.length };
  const summary = byId("summary");
  // Written only where it changes: a screen reader speaks whatever is written there.
  if (summary.textContent !== summaryOf(counts)) summary.textContent = summaryOf(counts);
  summary.classList.toggle("mistake", mistakes > 0);
  byId("never").hidden = unused.length === 0;
  byId("never-text").textContent = neverOption(unused);
  byId("confirm-all").checked = proposed === 0;
}

// What was saved is no longer what is shown.
function touched() {
  isSaved = false;
  byId("saved").hidden = true;
  checked();
}

function changed(event) {
  const { cell } = event.target.dataset;
  if (cell === undefined) return;
  fitRows(event.target);
  const element = event.target.closest("tr");
  if (cell === "tableMissing") tableMissing.text = event.target.value;
  else {
    const row = rows[element.dataset.place];
    row.cells[cell] = valueOfControl(event.target);
    showKind(element, row.cells);
  }
  touched();
}

function confirmAll(event) {
  rows.forEach((row, place) => {
    row.cells.confirmed = event.target.checked || row.first.confirmed;
    fillRow(elements[place], row);
  });
  touched();
}

function showFields() {
  const wanted = byId("filter").value.trim().toLowerCase();
  const state = byId("state").value;
  const isShown = (row, place) =>
    [row.original.name, row.cells.title].some((text) => text.toLowerCase().includes(wanted)) &&
    (state !== "open" || elements[place].classList.contains("open")) &&
    (state !== "proposed" || !row.cells.confirmed);
  rows.forEach((row, place) => (elements[place].hidden = !isShown(row, place)));
  const shownCount = elements.filter((element) => !element.hidden).length;
  byId("none").hidden = shownCount > 0;
  for (const button of byId("fields").querySelectorAll(".copy-row"))
    button.hidden = shownCount === rows.length || shownCount < 2;
}

const COPIED = [
  ...["type", "minimum", "maximum", "unit", "categories", "ordered", "trueTexts", "falseTexts"],
  ...["missing", "required", "decimal", "group"],
];

// Give the fields that are shown what one of them has, but for its name, label and role.
function copyRow(event) {
  if (!event.target.classList.contains("copy-row")) return;
  const place = Number(event.target.closest("tr").dataset.place);
  const others = rows.filter((row, other) => other !== place && !elements[other].hidden);
  const what = `type, range, categories and codes of ${rows[place].original.name}`;
  if (!confirm(`Copy ${what} to ${counted(others.length, "other field")}?`)) return;
  for (const row of others) {
    for (const cell of COPIED) row.cells[cell] = rows[place].cells[cell];
    fillRow(elements[rows.indexOf(row)], row);
  }
  touched();
}

function save() {
  const { content, mistakes } = checked();
  if (mistakes.length) {
    const first = document.querySelector("[aria-invalid]") ?? controlOf(document, "tableMissing");
    first.closest("tr")?.removeAttribute("hidden");
    first.focus();
    return;
  }
  const text = textOfJson(content);
  download(text);
  byId("saved").hidden = false;
  byId("file").textContent = page.file;
  const shownText = byId("json");
  shownText.value = text;
  shownText.focus();
  shownText.setSelectionRange(0, 0);
  shownText.scrollTop = 0;
  isSaved = true;
}

function download(text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = page.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

function begin() {
  byId("fields").append(...elements);
  const ofTable = controlOf(document, "tableMissing");
  ofTable.value = tableMissing.text;
  ofTable.placeholder = '""';
  byId("confirm-all-label").hidden = rows.every((row) => row.first.confirmed);
  const features = schema[FEATURES];
  byId("features").hidden = features === undefined;
  const lines = [features].flat().map((each) => JSON.stringify(each));
  byId("features").querySelector("pre").textContent = lines.join("\n");
  for (const event of ["input", "change"]) document.addEventListener(event, changed);
  byId("confirm-all").addEventListener("change", confirmAll);
  byId("filter").addEventListener("input", showFields);
  byId("state").addEventListener("change", showFields);
  byId("fields").addEventListener("click", copyRow);
  byId("save").addEventListener("click", save);
  byId("copy-json").addEventListener("click", (event) => copy(byId("json").value, event.target));
  byId("copy-never").addEventListener("click", (event) =>
    copy(byId("never-text").textContent, event.target),
  );
  addEventListener("beforeunload", (event) => isSaved || event.preventDefault());
  checked();
}

begin();
