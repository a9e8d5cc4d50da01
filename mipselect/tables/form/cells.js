// Between the JSON of a field and the texts of its cells. A property whose cell is not touched
// stays exactly as it was in the file, and so do properties that have no cell.

// A number that JavaScript would round: it is shown, and written again, as it stood in the file.
class WideNumber {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }

  valueOf() {
    return Number(this.text);
  }
}

const JSON_NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
const JSON_STRING = /^"(?:[^"\\]|\\.)*"/;

// The content of the page, in which numbers that JavaScript would round are marked texts.
function withWideNumbers(value, mark) {
  const within = (inner) => withWideNumbers(inner, mark);
  const isMarked = typeof value === "string" && value.startsWith(mark);
  if (isMarked) return new WideNumber(value.slice(mark.length));
  if (Array.isArray(value)) return value.map(within);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, within(inner)]));
}

// The text of a schema file.
function textOfJson(content) {
  const withNumbersAs = (change) =>
    JSON.stringify(content, (_, value) => (value instanceof WideNumber ? change(value) : value), 2);
  let mark = "number:";
  for (const plain = withNumbersAs(() => null); plain.includes(mark); ) mark += ":";
  const marked = withNumbersAs((number) => mark + number.text);
  return `${marked.replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1")}\n`;
}

// A text on one line of a list: plainly, or as a JSON string where it would be read as another.
function lineOfText(text, special = "") {
  const plain = text !== "" && text === text.trim() && !text.startsWith('"') && isPrintable(text);
  return plain && ![...special].some((mark) => text.includes(mark)) ? text : JSON.stringify(text);
}

function textOfLine(line) {
  const written = line.trim();
  if (JSON_STRING.exec(written)?.[0] !== written) return written;
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

// A list of values, or of {value, label}, as lines: "f = female", "f", or "f =" without a label.
function linesOfEntries(entries, numbers) {
  const ofValue = (value) => {
    if (typeof value !== "string") return String(value);
    return numbers ? JSON.stringify(value) : lineOfText(value, "=");
  };
  const line = (entry) => {
    if (!isObject(entry)) return ofValue(entry);
    const label = entry.label === undefined ? "" : lineOfText(entry.label);
    return `${ofValue(entry.value)} = ${label}`.trim();
  };
  return entries.map(line).join("\n");
}

// The entries of such lines, or an Error that names the line. Known entries keep what no line says.
function entriesOfLines(text, numbers, known) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [value, label] = partsOfLine(line.trim());
    if (value === "") throw new Error(`no value before = in ${shown(line.trim())}`);
    const entry = numbers ? numberOfLine(value) : textOfLine(value);
    if (label === undefined) return entry;
    const before = known.find((other) => isObject(other) && other.value === entry);
    const { label: _, ...kept } = before ?? {};
    return { ...kept, value: entry, ...(label === "" ? {} : { label: textOfLine(label) }) };
  });
}

function partsOfLine(line) {
  const quoted = JSON_STRING.exec(line)?.[0] ?? "";
  const end = line.indexOf("=", quoted.length);
  const value = (end < 0 ? line : line.slice(0, end)).trim();
  if (quoted && value !== quoted)
    throw new Error(`${shown(line)} goes on after its quotation mark`);
  return [value, end < 0 ? undefined : line.slice(end + 1).trim()];
}

function numberOfLine(written) {
  if (written.startsWith('"')) return textOfLine(written);
  if (!JSON_NUMBER.test(written)) throw new Error(noNumber(written));
  return Number(written);
}

const noNumber = (written) => `${shown(written)} is no number; write it like -1.5`;

const textIf = (value) => (typeof value === "string" ? value : "");
const linesOfTexts = (texts) => texts.map((text) => lineOfText(text)).join("\n");
const roleOf = (field) => (field[ROLE] === "person" ? "" : textIf(field[ROLE]));
const wordOfTruth = (value) => ({ true: "yes", false: "no" })[value] ?? "";

// The texts and ticks of a row.
function cellsOf(field, person) {
  const { minimum, maximum, required } = field.constraints ?? {};
  const end = (value) => (value === undefined ? "" : String(value));
  return {
    title: textIf(field.title),
    type: field.type ?? "",
    minimum: end(minimum),
    maximum: end(maximum),
    unit: textIf(field.unit),
    categories: linesOfEntries(field.categories ?? [], isNumberType(field)),
    ordered: field.categoriesOrdered === true,
    trueTexts: linesOfTexts(field.trueValues ?? []),
    falseTexts: linesOfTexts(field.falseValues ?? []),
    missing: linesOfEntries(field.missingValues ?? [], false),
    required: wordOfTruth(required),
    role: field.name === person ? "person" : roleOf(field),
    decimal: field.decimalChar ?? "",
    group: field.groupChar ?? "",
    confirmed: field[PROPOSED] !== true,
  };
}

// Properties of a field by their cells: where each is, and its value; undefined if there is none.
const PROPERTIES = {
  title: { path: ["title"], read: (text) => text || undefined },
  type: { path: ["type"], read: (text) => text || undefined },
  minimum: { path: ["constraints", "minimum"], read: readEnd },
  maximum: { path: ["constraints", "maximum"], read: readEnd },
  unit: { path: ["unit"], read: (text) => text || undefined },
  categories: { path: ["categories"], read: readLines },
  ordered: { path: ["categoriesOrdered"], read: (ticked) => ticked || undefined },
  trueTexts: { path: ["trueValues"], read: readTexts },
  falseTexts: { path: ["falseValues"], read: readTexts },
  missing: { path: ["missingValues"], read: (text, _, known) => readLines(text, false, known) },
  required: { path: ["constraints", "required"], read: (word) => ({ yes: true, no: false })[word] },
  role: { path: [ROLE], read: (word) => (word === "person" ? undefined : word || undefined) },
  decimal: { path: ["decimalChar"], read: (text) => text || undefined },
  group: { path: ["groupChar"], read: (text) => text || undefined },
  confirmed: { path: [PROPOSED], read: (ticked) => (ticked ? undefined : true) },
};

function readEnd(text) {
  const written = text.trim();
  if (written === "") return undefined;
  if (!JSON_NUMBER.test(written)) throw new Error(noNumber(written));
  return Number(written);
}

function readTexts(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length ? lines.map(textOfLine) : undefined;
}

function readLines(text, numbers, known) {
  const entries = entriesOfLines(text, numbers, known);
  return entries.length ? entries : undefined;
}

// Cells that a type has no use for are not shown, and stay as they were in the file.
const OF_NUMBERS = ["minimum", "maximum", "decimal", "group"];
const OF_LISTS = ["categories", "ordered"];
const OF_TRUTHS = ["trueTexts", "falseTexts"];

function isOfUse(cell, type) {
  if (OF_NUMBERS.includes(cell)) return NUMBERS.includes(type);
  if (OF_LISTS.includes(cell)) return type !== "boolean";
  return !OF_TRUTHS.includes(cell) || type === "boolean";
}

// The field that the cells of a row say, and what cannot be read of them.
function fieldOfRow({ original, first, cells }) {
  const field = { ...original };
  const faults = [];
  const numbers = NUMBERS.includes(cells.type);
  // A number is no text, so these are read anew where a field becomes one or the other.
  const readAnew = numbers === isNumberType(original) ? [] : ["categories", "minimum", "maximum"];
  for (const [cell, { path, read }] of Object.entries(PROPERTIES)) {
    const isTouched = cells[cell] !== first[cell] || readAnew.includes(cell);
    if (!isTouched || !isOfUse(cell, cells.type)) continue;
    try {
      setProperty(field, path, read(cells[cell], numbers, original[path[0]] ?? []));
    } catch (error) {
      faults.push({ cell, text: error.message });
    }
  }
  return { field, faults };
}

function setProperty(field, path, value) {
  const [key, inner] = path;
  if (inner !== undefined) {
    const below = { ...field[key] };
    setProperty(below, [inner], value);
    if (Object.keys(below).length) field[key] = below;
    else delete field[key];
  } else if (value === undefined) delete field[key];
  else field[key] = value;
}

// The schema that all rows say; unreadable cells are left as they were.
function contentOf(table, rows, tableMissing) {
  const content = { ...table };
  const persons = rows.filter((row) => row.cells.role === "person");
  setProperty(content, [PERSON], persons[0]?.original.name);
  const faults = [];
  if (tableMissing.text !== tableMissing.first) {
    try {
      const entries = readLines(tableMissing.text, false, table.missingValues ?? []);
      setProperty(content, ["missingValues"], entries);
    } catch (error) {
      faults.push({ place: -1, cell: "tableMissing", text: error.message });
    }
  }
  content.fields = rows.map((row, place) => {
    const { field, faults: unreadable } = fieldOfRow(row);
    faults.push(...unreadable.map((fault) => ({ place, ...fault })));
    return field;
  });
  persons.slice(1).forEach((row) => {
    const text = `one field can be the person: ${persons[0].original.name} is it already`;
    faults.push({ place: rows.indexOf(row), cell: "role", text });
  });
  return { content, faults };
}
