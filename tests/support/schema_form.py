"""The form for a schema as a person sees it in a browser."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mipselect.tables import TableSchema
from mipselect.tables.form.page import form_page
from tests.support.browser import resize, save_downloads_to

SECONDS = 10.0

ROW = """
return [...document.querySelectorAll("#fields tr")].find((row) =>
  row.querySelector(".name").textContent === arguments[0]);
"""

TOO_WIDE = """
const wide = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility()
  && !e.closest(".unseen, .repeated")
  && (e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().left < -0.5));
const result = wide.map((e) => e.outerHTML.slice(0, 200));
if (document.documentElement.scrollWidth > innerWidth) result.push("the page");
return result;
"""


class Form:
    """A page that is open."""

    def __init__(self, driver: Any, folder: Path, schema: TableSchema) -> None:
        self.driver = driver
        self.folder = folder
        self.schema = schema

    @property
    def address(self) -> str:
        return (self.folder / "t.schema.html").as_uri()

    def find(self, selector: str) -> Any:
        """An element, scrolled to the middle of the window."""
        return self.shown(self.driver.find_element("css selector", selector))

    def shown(self, element: Any) -> Any:
        self.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", element)
        return element

    def row(self, name: str) -> Any:
        row: Any = self.driver.execute_script(ROW, name)
        assert row is not None, f"no row {name}"
        return row

    def control(self, name: str, cell: str) -> Any:
        """A control of a field, scrolled to the middle of the window."""
        return self.shown(self.row(name).find_element("css selector", f'[data-cell="{cell}"]'))

    def tick(self, name: str, cell: str) -> None:
        self.control(name, cell).click()

    def write(self, name: str, **cells: str) -> None:
        """Type into cells, in place of what is there, or choose."""
        for cell, text in cells.items():
            control = self.control(name, cell)
            if control.tag_name == "select":
                control.find_element("xpath", f".//option[text()='{text}']").click()
            else:
                select_all = "arguments[0].focus(); arguments[0].select()"
                self.driver.execute_script(select_all, control)
                control.send_keys(text or "\ue003")

    def message(self, name: str, cell: str) -> str:
        place = self.row(name).find_element("css selector", f'[data-of="{cell}"]')
        return str(place.get_property("textContent"))

    @property
    def summary(self) -> str:
        return str(self.find("#summary").text)

    def save(self) -> Any:
        """Save; the file is what the page shows, and a schema."""
        path = self.folder / "t.schema.json"
        path.unlink(missing_ok=True)
        self.find("#save").click()
        text = self.find("#json").get_property("value")
        self.wait_for(lambda: path.exists() and path.read_text(encoding="utf-8") == text)
        content = json.loads(text)
        TableSchema.of(content)
        return content

    def wait_for(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.02)

    def too_wide(self) -> list[str]:
        """Elements that stand out of the window to the left or the right."""
        found: list[str] = self.driver.execute_script(TOO_WIDE)
        return found


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Callable[..., Form]:
    """Open the form of a schema at the width of a desktop or a phone."""

    def call(content: dict[str, Any], size: str = "desktop") -> Form:
        schema = TableSchema.of(content)
        form = Form(chromium, tmp_path, schema)
        page = form_page(schema, "t.schema.json")
        (tmp_path / "t.schema.html").write_text(page, encoding="utf-8", newline="")
        resize(chromium, size)
        save_downloads_to(chromium, tmp_path)
        chromium.get(form.address)
        return form

    return call
