// The rules of a schema, those of mipselect/tables/fields.py and schema.py; a test compares both.
// A fault is {cell, text}: the cell of the form that it is about, and what would be right.

const NUMBERS = ["integer", "number"];
const MAPPED = [...NUMBERS, "boolean", "string"];
const TRUE = ["true", "True", "TRUE", "1"];
const FALSE = ["false", "False", "FALSE", "0"];
const LAST_INTEGER = 2 ** 53;
const LARGEST_BOUND = 1e25;
const LONGEST_NAME = 200;
const NO_NAME = "must be one printable line of 1 to 200 characters";
const PERSON = "csvw-eo:privacyUnit";
const ROLE = "mipselect:role";
const PROPOSED = "mipselect:typeProposed";
const FEATURES = "mipselect:features";

const isNumberType = (field) => NUMBERS.includes(field.type);

// A number of JSON; one that JavaScript would round is a WideNumber (cells.js).
const isNumber = (value) => typeof value === "number" || value instanceof WideNumber;

const isObject = (value) =>
  value !== null &&
  typeof value === "object" &&
  !Array.isArray(value) &&
  !(value instanceof WideNumber);

const strip = (text) => text.replace(/^[ \t\r\n\v\f]+|[ \t\r\n\v\f]+$/g, "");

const isPrintable = (text) => !/(?! )[\p{C}\p{Z}]/u.test(text);

const isName = (text) =>
  isPrintable(text) && text !== "" && [...text].length <= LONGEST_NAME;

const isUnit = (unit) => typeof unit !== "string" || isName(unit);

const valueOf = (entry) => (isObject(entry) ? entry.value : entry);

const valuesOf = (entries) => entries.map(valueOf);

const TEXT_OF_NUMBER =
  /^([+-]?)(?:((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)|inf|infinity)$/i;

// The number that a text of the table stands for, or null.
function numberOfText(text, field) {
  let written = strip(text);
  const truth = { true: 1, false: 0 }[written.toLowerCase()];
  if (truth !== undefined) return truth;
  if (field.groupChar) written = written.replaceAll(field.groupChar, "");
  if ((field.decimalChar ?? ".") !== ".") written = written.replaceAll(field.decimalChar, ".");
  const found = TEXT_OF_NUMBER.exec(written);
  if (!found) return null;
  const size = found[2] === undefined ? Infinity : Number(found[2]);
  return found[1] === "-" ? -size : size;
}

// The values of a field as the rules see them, or null where it has none.
function categoriesOf(field) {
  const entries = field.categories ?? field.constraints?.enum;
  const isListed = field.type === "string" || isNumberType(field);
  return isListed && entries !== undefined ? valuesOf(entries) : null;
}

// What a person has to write before the field can be used; "" if nothing. The page has the words
// for fields without categories, by their type and by the ends that they have.
function gapOf(field, content) {
  const kind = field.type ?? "any";
  const { minimum, maximum } = field.constraints ?? {};
  if (field.name === content[PERSON] || ["weight", "ignored"].includes(field[ROLE])) return "";
  if (categoriesOf(field) !== null) return "";
  if (!MAPPED.includes(kind) && isSource(field, content)) return "";
  return page.gaps[kind][(minimum === undefined ? 0 : 1) + (maximum === undefined ? 0 : 2)];
}

// A date is used where a feature is made of it.
const isSource = (field, content) =>
  [content[FEATURES] ?? []].flat().some((each) => isObject(each) && each.from === field.name);

function faultsOfField(field, tableMissing, isPerson) {
  return [
    ...faultsOf({ name: isName(field.name) || NO_NAME, unit: isUnit(field.unit) || NO_NAME }),
    ...rangeFaults(field, isPerson),
    ...categoryFaults(field),
    ...writtenFaults(field),
    ...missingFaults(field, tableMissing),
    ...weightFaults(field, isPerson),
    ...faultsOf({ role: !(field[ROLE] === "ignored" && isPerson) || "the person is not ignored" }),
  ];
}

function rangeFaults(field, isPerson) {
  const { minimum, maximum } = field.constraints ?? {};
  const numbers = isNumberType(field);
  // Without a type the ends must be numbers too, though nothing is made of them.
  if (!numbers && field.type !== undefined) return [];
  const faults = [];
  for (const [end, value] of Object.entries({ minimum, maximum })) {
    if (value === undefined) continue;
    const cell = numbers ? end : "type";
    const size = Math.abs(Number(value));
    if (!isNumber(value) || !(size <= LARGEST_BOUND))
      faults.push({ cell, text: `the ${end} must be a number between -1e25 and 1e25` });
    else if (numbers && isPerson && size >= LAST_INTEGER)
      faults.push({ cell, text: "identities this large must be texts: take the type string" });
  }
  const areBoth = numbers && minimum !== undefined && maximum !== undefined;
  if (areBoth && !(Number(minimum) < Number(maximum)))
    faults.push({ cell: "minimum", text: "must be below the maximum" });
  return faults;
}

function categoryFaults(field) {
  const faults = [];
  const seen = new Set();
  for (const value of categoriesOf(field) ?? []) {
    const fault = categoryFault(field, value);
    const same = typeof value === "string" ? strip(value) : Number(value);
    if (fault) faults.push({ cell: "categories", text: `${shown(value)} ${fault}` });
    else if (seen.has(same))
      faults.push({ cell: "categories", text: `${shown(value)} is listed twice` });
    seen.add(same);
  }
  return faults;
}

function categoryFault(field, value) {
  if (field.type === "string") {
    if (typeof value !== "string") return "must be a text, as the field is";
    return isName(strip(value)) ? "" : NO_NAME;
  }
  if (!isNumber(value)) return "must be a number, as the field is";
  return Math.abs(Number(value)) <= LAST_INTEGER ? "" : "is beyond 2⁵³; take the type string";
}

function writtenFaults(field) {
  const faults = [];
  const decimal = field.decimalChar ?? ".";
  const group = field.groupChar ?? "";
  if (field.bareNumber === false)
    faults.push({ cell: "decimal", text: "bareNumber must be true: no letters around numbers" });
  if (decimal === group)
    faults.push({ cell: "group", text: "must differ from the decimal character" });
  for (const [cell, written] of Object.entries({ decimal, group })) {
    if ([...written].length > 1) faults.push({ cell, text: "must be one character" });
    else if (written && "+-0123456789eE".includes(written))
      faults.push({ cell, text: "must be no part of a number" });
  }
  const yes = (field.trueValues ?? TRUE).map(strip);
  const both = (field.falseValues ?? FALSE).map(strip).find((text) => yes.includes(text));
  if (both !== undefined)
    faults.push({ cell: "falseTexts", text: `${shown(both)} stands for true and for false` });
  return faults;
}

function missingFaults(field, tableMissing) {
  const texts = valuesOf(field.missingValues ?? tableMissing).map(strip);
  const numbers = texts.map((text) => numberOfText(text, field));
  const isMissing = (value) =>
    typeof value === "string"
      ? texts.includes(strip(value))
      : isNumberType(field) && numbers.includes(Number(value));
  return (categoriesOf(field) ?? [])
    .filter(isMissing)
    .map((value) => `${shown(value)} is a category too; one of both must go`)
    .map((text) => ({ cell: "missing", text }));
}

function weightFaults(field, isPerson) {
  if (field[ROLE] !== "weight") return [];
  const { minimum, maximum } = field.constraints ?? {};
  const most = Number(maximum);
  const isScale = 1 / LARGEST_BOUND <= most && most <= LARGEST_BOUND;
  return faultsOf({
    role: (isNumberType(field) && !isPerson) || "a weight must be a number, and not the person",
    categories: categoriesOf(field) === null || "a weight has no categories",
    minimum: minimum === undefined || Number(minimum) >= 0 || "must be 0 or more for a weight",
    maximum: isScale || "must be above 0 for a weight: the most that one row may count",
  });
}

// Faults of an object that has true, or what is wrong, for each cell.
const faultsOf = (rules) =>
  Object.entries(rules)
    .filter(([, rule]) => rule !== true)
    .map(([cell, text]) => ({ cell, text }));

// Faults that are about several fields.
function faultsOfTable(content) {
  const names = content.fields.map((field) => field.name);
  const weights = content.fields.filter((field) => field[ROLE] === "weight");
  const person = content[PERSON];
  const faults = weights.slice(1).map((field) => {
    const text = `one field can be the weight: ${weights[0].name} is it already`;
    return { place: content.fields.indexOf(field), cell: "role", text };
  });
  names.forEach((name, place) => {
    if (names.indexOf(name) !== place) faults.push({ place, cell: "name", text: "stands twice" });
  });
  if (person !== undefined && !names.includes(person))
    faults.push({ place: 0, cell: "role", text: `there is no field ${shown(person)}` });
  return faults;
}

// All faults of a schema, each with the place of its field, and what each field lacks.
function verdict(content) {
  const missing = content.missingValues ?? [""];
  const ofFields = content.fields.flatMap((field, place) => {
    const isPerson = field.name === content[PERSON];
    return faultsOfField(field, missing, isPerson).map((fault) => ({ place, ...fault }));
  });
  return {
    faults: [...ofFields, ...faultsOfTable(content)],
    gaps: content.fields.map((field) => gapOf(field, content)),
  };
}

function shown(value) {
  const characters = [...(typeof value === "string" ? `“${value}”` : String(value))];
  return characters.length <= 40 ? characters.join("") : `${characters.slice(0, 38).join("")}…`;
}
