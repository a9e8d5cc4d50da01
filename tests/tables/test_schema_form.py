"""The form for a schema in a browser: messages while one types, and the file that it saves."""

from __future__ import annotations

from typing import Any

import pytest

from mipselect.tables.form.page import form_page
from tests.support.browser import SIZES, addresses
from tests.support.one_row_at_a_time import HOSPITAL

NAMES = [
    '</script><script>document.title="broken"</script>',
    "<!--<script>",
    "a\"b'c&amp;",
    "{{script}}",
    "\\g<0> $& \\u003c",
    "😀",
    "\u05e9\u05dc\u05d5\u05dd",
    "=1+1",
    "__proto__",
    "number:5",
    "a,b",
    "x" * 200,
]
"""Names of fields that could break out of a page, or make it too wide."""

WITHOUT_NAME = """
return [...document.querySelectorAll("input, select, textarea, button")]
  .filter((e) => !(e.ariaLabel || e.labels?.[0]?.textContent || e.textContent))
  .map((e) => e.outerHTML);
"""

FULL = {
    **HOSPITAL,
    "csvw-eo:privacyUnit": "age",
    "csvw-eo:maxContributions": 3,
    "mipselect:features": [
        {"name": "root_dose", "from": "dose", "transform": "sqrt"},
        {"name": "month", "from": "day", "part": "month"},
    ],
    "number:": "number:7",
    "10": 1,
    "2": {"__proto__": [1e300, -1e999, 12345678901234567890, None, "\u2028😀"]},
    "fields": [
        *HOSPITAL["fields"],
        {"name": "sample", "type": "number", "title": {}, "bareNumber": True, "x:note": 2**70},
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "pattern": "x"}},
        {"name": "code", "type": "integer", "constraints": {"enum": [1, 2]}, "missingValues": []},
        {
            "name": "more",
            "type": "string",
            "categories": [{"value": " a = b", "label": "", "colour": "red"}, '"', "="],
            "missingValues": ["", {"value": "-9", "label": "refused"}],
        },
    ],
}
"""Every property that the form does not know, and values that it shows oddly."""


@pytest.mark.parametrize("names", [NAMES], ids=["hostile"])
@pytest.mark.parametrize("size", SIZES)
def test_names_do_not_break_out_of_the_page_nor_make_it_wide(
    opened: Any, names: list[str], size: str
) -> None:
    fields = [{"name": name, "title": name, "type": "string"} for name in names]
    form = opened({"fields": fields, "note": names}, size)
    assert form.driver.title == "t.schema.json"
    shown = form.driver.find_elements("css selector", "#fields .name")
    assert [each.get_attribute("textContent") for each in shown] == names
    assert form.summary == f"{len(names)} fields: {len(names)} lack something"
    assert form.too_wide() == []
    assert form.save() == {"fields": fields, "note": names}
    for name in ("😀", "a,b", "a\"b'c&amp;"):
        form.tick(name, "used")
    never = """--never '"a""b'\\''c&amp;",😀,"a,b"'"""
    assert form.find("#never-text").text == never
    assert form.too_wide() == []


def test_what_nobody_touches_stays_as_it_was(opened: Any) -> None:
    form = opened(FULL)
    assert form.save() == FULL
    assert "root_dose" in form.find("#features pre").get_attribute("textContent")
    assert form.control("code", "categories").get_attribute("placeholder").endswith("1\n2")
    assert form.message("day", "type") == ""
    form.write("more", categories='" a = b" = A\n= x')
    assert form.message("more", "categories") == "no value before = in “= x”"
    form.write("more", categories='" a = b" = A\n"= x"')
    form.write("sample", title="Sampling")
    form.write("day", unit="days")
    saved = form.save()
    sample, day, _, more = saved["fields"][-4:]
    assert more["categories"] == [{"value": " a = b", "label": "A", "colour": "red"}, "= x"]
    assert sample == {**FULL["fields"][-4], "title": "Sampling"}
    assert day == {**FULL["fields"][-3], "unit": "days"}


def test_nothing_is_loaded_and_no_other_script_runs(opened: Any) -> None:
    form = opened(HOSPITAL)
    addresses(form.driver)
    form.driver.get(form.address)
    assert addresses(form.driver) == {form.address}
    form.driver.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.foreign = 1';"
        "document.body.append(s); const i = new Image(); i.src = 'https://example.org/i.png';"
        "document.body.append(i); document.body.setAttribute('onclick', 'window.foreign = 1');"
        "document.body.click();"
    )
    assert form.driver.execute_script("return window.foreign") is None
    assert addresses(form.driver) <= {form.address}
    page = form_page(form.schema, "t.schema.json")
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")


def test_messages_come_while_one_types(opened: Any) -> None:
    form = opened({"fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "any"}]})
    assert form.summary == "2 fields: 2 lack something"
    assert form.message("a", "categories") == "lacks categories"
    assert form.message("b", "type").startswith("lacks type (integer, number, boolean or string)")
    form.write("a", categories="x = the first\ny\n x ")
    assert form.message("a", "categories") == "“x” is listed twice"
    assert form.summary == "2 fields: 1 lacks something; 1 mistake"
    form.write("a", categories="x = the first\ny =\nz", missing='""\nx')
    assert form.message("a", "missing") == "“x” is a category too; one of both must go"
    form.write("a", missing='""\n-9 = refused')
    form.write("b", type="integer", minimum="5", maximum="1,5")
    assert form.message("b", "maximum") == "“1,5” is no number; write it like -1.5"
    assert form.message("b", "minimum") == ""
    form.write("b", maximum="5")
    assert form.message("b", "minimum") == "must be below the maximum"
    form.write("b", maximum="")
    assert form.message("b", "minimum") == "lacks maximum, or categories"
    form.write("b", maximum="1e26")
    assert form.message("b", "maximum") == "the maximum must be a number between -1e25 and 1e25"
    form.write("b", minimum="-5.5", maximum="10", unit="mmHg", title="B", required="yes")
    form.write("b", decimal=",", group=",")
    assert form.message("b", "group") == "must differ from the decimal character"
    form.write("b", group="")
    form.tick("a", "ordered")
    assert form.summary == "2 fields: nothing is left to do"
    assert form.save()["fields"] == [
        {
            "name": "a",
            "type": "string",
            "categories": [{"value": "x", "label": "the first"}, {"value": "y"}, "z"],
            "categoriesOrdered": True,
            "missingValues": ["", {"value": "-9", "label": "refused"}],
        },
        {
            "name": "b",
            "type": "integer",
            "constraints": {"minimum": -5.5, "maximum": 10, "required": True},
            "unit": "mmHg",
            "title": "B",
            "decimalChar": ",",
        },
    ]


def test_a_type_changes_what_the_categories_are(opened: Any) -> None:
    field = {"name": "a", "type": "integer", "categories": [1, {"value": 2, "label": "two"}]}
    form = opened({"fields": [field]})
    form.write("a", type="string")
    assert form.save()["fields"] == [
        {"name": "a", "type": "string", "categories": ["1", {"value": "2", "label": "two"}]}
    ]
    form.write("a", categories="1\nx", type="number")
    assert form.message("a", "categories") == "“x” is no number; write it like -1.5"
    form.find("#save").click()
    assert form.driver.switch_to.active_element == form.control("a", "categories")
    form.write("a", categories="= x", type="boolean")
    assert form.summary == "1 field: nothing is left to do"
    form.write("a", trueTexts="yes\nja", falseTexts="no\nja")
    assert form.message("a", "falseTexts") == "“ja” stands for true and for false"
    form.write("a", falseTexts="no = never")
    (saved,) = form.save()["fields"]
    assert (saved["trueValues"], saved["falseValues"]) == (["yes", "ja"], ["no = never"])


def test_mistakes_are_not_saved(opened: Any) -> None:
    ends = {"minimum": 1, "maximum": 2}
    form = opened({"fields": [{"name": "a", "type": "number", "constraints": ends}]})
    form.write("a", minimum="3")
    form.find("#save").click()
    assert not form.find("#saved").is_displayed()
    assert form.driver.switch_to.active_element == form.control("a", "minimum")
    assert form.control("a", "minimum").get_attribute("aria-invalid") == "true"
    form.find('[data-cell="tableMissing"]').send_keys("= x")
    assert form.summary == "1 field: 2 mistakes"
    form.find('[data-cell="tableMissing"]').clear()
    form.write("a", minimum="-3")
    assert form.save() == {
        "fields": [{"name": "a", "type": "number", "constraints": {"minimum": -3, "maximum": 2}}]
    }


def test_an_ignored_field_lacks_nothing(opened: Any) -> None:
    form = opened({"fields": [{"name": "who", "type": "string"}, {"name": "on", "type": "date"}]})
    form.write("who", role="ignored")
    form.write("on", role="ignored")
    assert form.summary == "2 fields: nothing is left to do"
    saved = form.save()
    assert [field["mipselect:role"] for field in saved["fields"]] == ["ignored", "ignored"]
    form.write("who", role="person")
    assert "mipselect:role" not in form.save()["fields"][0]


def test_roles(opened: Any) -> None:
    names = ("id", "w", "z")
    form = opened({"fields": [{"name": name, "type": "string"} for name in names]})
    form.write("id", role="person")
    form.write("z", role="person")
    assert form.message("z", "role") == "one field can be the person: id is it already"
    form.write("z", role="none", categories="x")
    form.write("w", role="survey weight")
    assert form.message("w", "role") == "a weight must be a number, and not the person"
    form.write("w", type="number", categories="1")
    assert form.message("w", "maximum").startswith("must be above 0 for a weight")
    assert form.message("w", "categories") == "a weight has no categories"
    form.write("w", maximum="0", minimum="-1", categories="")
    assert form.message("w", "maximum").startswith("must be above 0 for a weight")
    assert form.message("w", "minimum") == "must be 0 or more for a weight"
    form.write("id", role="survey weight")
    assert form.message("w", "role") == "one field can be the weight: id is it already"
    form.write("id", role="person")
    form.write("w", maximum="8.5", minimum="")
    assert form.summary == "3 fields: nothing is left to do"
    saved = form.save()
    assert saved["csvw-eo:privacyUnit"] == "id"
    assert saved["fields"][1] == {
        **{"name": "w", "type": "number", "constraints": {"maximum": 8.5}},
        "mipselect:role": "weight",
    }
    form.write("id", role="none", type="number", minimum="0", maximum="1e17")
    form.write("z", role="person")
    assert form.save()["csvw-eo:privacyUnit"] == "z"
    form.write("z", role="none")
    form.write("id", role="person")
    assert "must be texts: take" in form.message("id", "maximum")


def test_types_are_confirmed_one_by_one_or_all(opened: Any) -> None:
    proposed = {"type": "boolean", "mipselect:typeProposed": True}
    form = opened({"fields": [{"name": name, **proposed} for name in "abc"]})
    assert form.summary == "3 fields: 3 types to confirm"
    form.tick("b", "confirmed")
    assert form.summary == "3 fields: 2 types to confirm"
    assert [f.get("mipselect:typeProposed") for f in form.save()["fields"]] == [True, None, True]
    form.find("#confirm-all").click()
    form.find("#confirm-all").click()
    assert form.summary == "3 fields: 3 types to confirm"
    form.find("#confirm-all").click()
    assert form.summary == "3 fields: nothing is left to do"
    assert all("mipselect:typeProposed" not in field for field in form.save()["fields"])
    assert form.find("#saved").is_displayed()
    form.tick("c", "confirmed")
    assert not form.find("#saved").is_displayed()
    assert form.summary == "3 fields: 1 type to confirm"
    assert not form.find("#confirm-all").is_selected()
    form = opened({"fields": [{"name": "a", "type": "boolean"}]})
    assert not form.find("#confirm-all-label").is_displayed()


def test_fields_that_are_not_used_may_lack_things(opened: Any) -> None:
    form = opened({"fields": [{"name": "a b", "type": "string"}, {"name": "c", "type": "date"}]})
    assert not form.find("#never").is_displayed()
    form.tick("c", "used")
    assert form.summary == "2 fields: 1 lacks something; 1 not used"
    assert form.find("#never-text").text == "--never c"
    form.tick("a b", "used")
    assert form.find("#never-text").text == "--never 'a b,c'"
    form.find("#copy-never").click()
    form.wait_for(lambda: form.find("#copy-never").text == "Copied")


def test_a_field_is_found_and_copied_to_others_like_it(opened: Any) -> None:
    names = ["age", "item1", "item2", "Item3"]
    fields = [{"name": name, "type": "string", "title": f"of {name}"} for name in names]
    form = opened({"fields": fields})
    assert not form.row("item1").find_element("css selector", ".copy-row").is_displayed()
    form.find("#filter").send_keys("ITEM")
    assert [form.row(name).is_displayed() for name in names] == [False, True, True, True]
    form.write("item1", type="integer", categories="1 = no\n5 = yes", role="person")
    form.row("item1").find_element("css selector", ".copy-row").click()
    form.driver.switch_to.alert.accept()
    age, *items = form.save()["fields"]
    assert age == fields[0]
    for item, field in zip(items, fields[1:], strict=True):
        assert item["title"] == field["title"]
        assert item["type"] == "integer"
        assert item["categories"] == [{"value": 1, "label": "no"}, {"value": 5, "label": "yes"}]
    form.find("#filter").clear()
    form.find("#filter").send_keys("nobody")
    assert form.find("#none").is_displayed()
    form.find("#filter").clear()
    form.find("#filter").send_keys("\b")
    form.find("#state option[value=open]").click()
    assert [form.row(name).is_displayed() for name in names] == [True, False, False, False]


@pytest.mark.parametrize("size", SIZES)
def test_every_control_has_a_name_and_a_place(opened: Any, size: str) -> None:
    form = opened(FULL, size)
    form.write("age", minimum="a long text that is no number at all " * 3)
    form.write("more", categories="x" * 300)
    assert form.too_wide() == []
    assert form.driver.execute_script(WITHOUT_NAME) == []
    assert form.control("age", "minimum").accessible_name == "Minimum of age"
    assert form.control("more", "ordered").accessible_name == "Ordered as listed of more"
    assert form.find("#filter").accessible_name.strip() == "Find a field"
    first = form.control("age", "type")
    form.control("age", "used").send_keys("\t")
    assert form.driver.switch_to.active_element == first
    style = "return getComputedStyle(document.activeElement).outlineStyle"
    assert form.driver.execute_script(style) == "solid"
    form.write("age", minimum="1")
    form.write("more", categories="x")
    form.save()
    assert form.too_wide() == []


def test_dark_mode(opened: Any) -> None:
    form = opened(HOSPITAL)
    colours = []
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        form.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        style = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
        colours.append(form.driver.execute_script(style))
    form.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    (text, ground), (light, dark) = colours
    assert len({text, ground, light, dark}) == 4


def test_sixty_fields_stay_quick(opened: Any) -> None:
    fields = [{"name": f"item{k}", "type": "string"} for k in range(60)]
    form = opened({"fields": fields})
    keys = """
        const area = document.querySelectorAll('[data-cell="categories"]')[30];
        const begin = performance.now();
        for (let k = 0; k < 50; k++) {
          area.value += `${k}\\n`;
          area.dispatchEvent(new Event("input", { bubbles: true }));
        }
        return (performance.now() - begin) / 50;
    """
    assert form.driver.execute_script(keys) < 200
    assert form.summary == "60 fields: 59 lack something"
