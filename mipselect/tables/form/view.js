// Rows of the form as elements of the page: made of a template, filled from cells, with messages.

const byId = (id) => document.getElementById(id);

// Make the element of a row; every control is called by its caption and its field.
function rowElement(row, place) {
  const element = byId("row").content.firstElementChild.cloneNode(true);
  const { name } = row.original;
  element.dataset.place = place;
  element.querySelector(".name").textContent = name;
  for (const control of element.querySelectorAll("[data-cell]")) {
    const caption = control.closest("label").querySelector("span").textContent;
    control.setAttribute("aria-label", `${caption} of ${name}`);
    const message = messageOf(element, control.dataset.cell);
    if (message) control.setAttribute("aria-describedby", message.id);
  }
  element.querySelector(".copy-row").setAttribute("aria-label", `Copy ${name} to the fields shown`);
  const others = page.types.filter((type) => !MAPPED.includes(type));
  element.querySelector(".others").prepend(...others.map((type) => new Option(type, type)));
  addRole(element, row.first.role);
  element.querySelector(".proposed").hidden = row.first.confirmed;
  controlOf(element, "categories").placeholder = hintOfCategories(row.original);
  controlOf(element, "missing").placeholder = hintOfMissing(row.original);
  fillRow(element, row);
  return element;

  function messageOf(within, cell) {
    const message = within.querySelector(`[data-of="${cell}"]`);
    if (message) message.id = `message-${place}-${cell}`;
    return message;
  }
}

const controlOf = (element, cell) => element.querySelector(`[data-cell="${cell}"]`);

// A role that only others know stays to be chosen.
function addRole(element, role) {
  const select = controlOf(element, "role");
  const isThere = [...select.options].some((option) => option.value === role);
  if (!isThere) select.append(new Option(role, role));
}

function hintOfCategories(field) {
  const values = field.categories ? [] : (field.constraints?.enum ?? []);
  const lines = linesOfEntries(values, isNumberType(field));
  return values.length ? `of constraints.enum:\n${lines}` : "value = label";
}

// An empty list in the file says that there are none.
const hintOfMissing = (field) => (field.missingValues?.length === 0 ? "none" : "as the table");

function fillRow(element, row) {
  for (const control of element.querySelectorAll("[data-cell]")) {
    const value = row.cells[control.dataset.cell];
    if (control.type === "checkbox") control.checked = value;
    else control.value = value;
    fitRows(control);
  }
  showKind(element, row.cells);
}

// The value of a control: a tick, or a text.
const valueOfControl = (control) => (control.type === "checkbox" ? control.checked : control.value);

// As many lines as a list has, within reason.
function fitRows(control) {
  if (control.tagName !== "TEXTAREA") return;
  const lines = control.value.split("\n").length;
  control.rows = Math.min(Math.max(lines, 2), 10);
}

// Show the controls that the type has a use for.
function showKind(element, cells) {
  const kinds = { number: NUMBERS.includes(cells.type), boolean: cells.type === "boolean" };
  kinds.listed = !kinds.boolean;
  for (const part of element.querySelectorAll("[data-for]")) part.hidden = !kinds[part.dataset.for];
  element.classList.toggle("unused", !cells.used);
  element.querySelector(".proposed span").textContent = cells.confirmed
    ? "Confirmed"
    : "Proposed: please confirm";
  element.querySelector(".proposed").classList.toggle("done", cells.confirmed);
}

const shownMessages = new WeakMap();

// Write messages beside the cells that they are about: [{cell, text, level}].
function showMessages(element, messages) {
  const written = JSON.stringify(messages);
  if (shownMessages.get(element) === written) return;
  shownMessages.set(element, written);
  for (const place of element.querySelectorAll("[data-of]")) {
    const here = messages.filter((message) => message.cell === place.dataset.of);
    showMessage(place, here);
    const control = controlOf(element, place.dataset.of);
    const isWrong = here.some((message) => message.level === "mistake");
    if (isWrong) control?.setAttribute("aria-invalid", "true");
    else control?.removeAttribute("aria-invalid");
  }
}

function showMessage(place, messages) {
  const text = messages.map((message) => message.text).join("; ");
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle("mistake", messages.some((message) => message.level === "mistake"));
}

// What a field lacks, as a message in words.
function lackOf(field, gap) {
  if (gap === "") return [];
  const cell = isNumberType(field) ? "minimum" : field.type === "string" ? "categories" : "type";
  const words = gap.replaceAll("constraints.", "");
  const text = words.startsWith("nothing helps") ? words : `lacks ${words}`;
  return [{ cell, level: "lack", text }];
}

// "8 fields: 3 lack something; 1 mistake; 2 types to confirm"
function summaryOf({ fields, lacking, mistakes, proposed, unused }) {
  const parts = [
    lacking && `${lacking} ${lacking === 1 ? "lacks" : "lack"} something`,
    mistakes && counted(mistakes, "mistake"),
    proposed && `${counted(proposed, "type")} to confirm`,
    unused && `${unused} not used`,
  ].filter(Boolean);
  return `${counted(fields, "field")}: ${parts.join("; ") || "nothing is left to do"}`;
}

const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

// The option that leaves fields out, as a shell and the command read it.
function neverOption(names) {
  const inQuotes = (name) => `"${name.replaceAll('"', '""')}"`;
  const listed = names.map((name) => (/[",]|^\s|\s$/.test(name) ? inQuotes(name) : name)).join(",");
  const isPlain = /^[\w.,-]+$/.test(listed);
  return `--never ${isPlain ? listed : `'${listed.replaceAll("'", "'\\''")}'`}`;
}
