"""Bad input of every kind, and what the command line must say to it: one clear line.

`CASES` is what `test_hostile_commands.py` runs. Each case holds if the exit code is right, standard
output is empty, standard error is one line with the expected words, and every file in the folder is
as it was.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import signal
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import numpy as np

import mipselect.cli
from mipselect import errors
from mipselect.cli import main
from tests.support.commandline import BOUNDS, INSTANCE, TABLE

SECONDS = 120
"""What takes longer hangs."""

NOBODY = 65534
LONGEST = 2_200
LONG = "n" * 300
HEAD = INSTANCE[: INSTANCE.index("[data]")]
NPZ = HEAD + '[data]\nsource = "npz"\npath = "data.npz"\n'
RECIPE = HEAD + (
    '[data]\nsource = "correlated-gaussian"\nn = {}\np = 6\nrho = 0.1\nsnr = 5.0\n'
    "support_size = 2\nseed = 1\n"
)
WIDE = ",".join(f"c{j}" for j in range(60)) + ",y\n" + (",".join(["1"] * 61) + "\n") * 20
TWENTY = INSTANCE.replace("support_size = 2", "support_size = 20")
EXPECTED = INSTANCE + "[expected]\nsupport = [0, 1]\nvalue = {}\n"
COMMON = ("--target", "y", "--support-size", "2", "--epsilon", "1", *BOUNDS)
SELECT = ("select", "data.csv", *COMMON)
SOLVE = ("solve", "instance.toml")
RELEASE = ("release", "instance.toml", "--epsilon", "1")
REPRODUCE = ("reproduce", "kendall-copies", "--quick", "--output")
TRIALS = "kendall-copies-quick.jsonl"
ASKED = ("--target", "y", "--support-size", "1", "--epsilon", "1")
FIT = ("fit", "data.csv", *ASKED[:-1], "60")
FIT_BY_SCHEMA = ("fit", "data.csv", *ASKED, "--schema", "schema.json")
CHECK = ("check", "data.csv", "--schema", "schema.json")
PREDICT = ("predict", "model.json", "data.csv")
SCHEMA = (
    '{"fields": [{"name": "a", "type": "number", "constraints": {"minimum": -3, "maximum": 3}}, '
    '{"name": "y", "type": "number", "constraints": {"minimum": -5, "maximum": 5}}]}'
)

Maker = Callable[[Path], object]
Content = str | bytes | Maker


@dataclass(frozen=True)
class Case:
    """A command, the files around it, and what must come of it.

    Attributes
    ----------
    name : str
    arguments : tuple of str
        Paths are relative to a folder with data.csv and instance.toml.
    words : tuple of str
        All of them are in the one line; for a code of 0, in standard output.
    files : mapping
        More files, or others in place of these two: their content, or what makes them.
    code : int
    as_nobody : bool
        Whether to run without the rights of root.
    """

    name: str
    arguments: tuple[str, ...]
    words: tuple[str, ...]
    files: Mapping[str, Content] = field(default_factory=dict)
    code: int = 2
    as_nobody: bool = False

    def falls_short(self, folder: Path) -> str:
        """Run in an empty folder; return what is wrong, or "" if nothing is."""
        for name, content in {"data.csv": TABLE, "instance.toml": INSTANCE, **self.files}.items():
            if callable(content):
                content(folder / name)
            else:
                (folder / name).write_bytes(
                    content.encode() if isinstance(content, str) else content
                )
        before = _contents(folder)
        try:
            code, out, err = run_here(self.arguments, folder, self.as_nobody)
        except BaseException as error:  # noqa: BLE001
            return f"{type(error).__name__}: {error}"[:300]
        if self.code == 0:
            missing = [word for word in self.words if word not in out]
            return f"code {code}, missing {missing}, {err[:300]}" if code or missing else ""
        return judged(code, out, err, self.code, self.words) or (
            "" if _contents(folder) == before else "files have changed"
        )


def judged(code: int, out: str, err: str, wanted: int, words: tuple[str, ...]) -> str:
    """What is wrong about the end of a command that must fail."""
    if code != wanted:
        return f"code {code}, not {wanted}: {err[-300:]}"
    if out:
        return f"standard output has {out[:200]!r}"
    if not (err.startswith("mipselect: error: ") and err.count("\n") == 1 and err[-1] == "\n"):
        return f"not one line: {err[-300:]!r}"
    if len(err) > LONGEST or not err[:-1].isprintable():
        return f"too long or not printable: {err[:300]!r}"
    missing = [word for word in words if word not in err]
    return f"{missing} is not in {err!r}" if missing else ""


def run_here(
    arguments: tuple[str, ...], folder: Path, as_nobody: bool = False
) -> tuple[int, str, str]:
    """Call `main` in this process, from `folder`: exit code, standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _limited_time(),
        _rights_of_nobody(as_nobody),
    ):
        code = main(list(arguments))
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _limited_time() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _rights_of_nobody(wanted: bool) -> Iterator[None]:
    wanted = wanted and os.geteuid() == 0
    if wanted:
        # Commands are imported when they are first used, which nobody may not be able to do.
        for module in pkgutil.iter_modules(mipselect.cli.__path__):
            if module.name != "__main__":
                importlib.import_module(f"mipselect.cli.{module.name}")
        # It makes a folder when it is first imported, and says so if it cannot.
        importlib.import_module("matplotlib.pyplot")
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if wanted:
            os.seteuid(0)


def _contents(folder: Path) -> dict[str, object]:
    """Every file with its kind, mode and content."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        found[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else None)
    return found


def link_to(target: str) -> Maker:
    return lambda path: path.symlink_to(target)


def locked_folder(path: Path) -> None:
    path.mkdir()
    (path / "data.csv").write_text(TABLE)
    path.chmod(0)


def read_only(path: Path) -> None:
    path.write_text("kept")
    path.chmod(0o444)


def npz(**arrays: object) -> Maker:
    return lambda path: np.savez(path, **arrays)


def npz_with_text_member(path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", "this is no array")
        archive.writestr("y", "neither is this")


def npz_too_large(path: Path) -> None:
    import zipfile

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10**6)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
        archive.writestr("y.npy", header.getvalue())


def dates_in_parquet(path: Path) -> None:
    import datetime

    import pyarrow as pa
    from pyarrow import parquet

    days = [datetime.date(2020, 1, 1 + k) for k in range(4)]
    parquet.write_table(pa.table({"day": days, "a": [1.0] * 4, "y": [2.0] * 4}), path)


def model_file(path: Path, old: str = "", new: str = "") -> None:
    """A model of data.csv, with a change."""
    table = path.with_name("table.csv")
    table.write_text(TABLE)
    code, _, err = run_here(("fit", table.name, *FIT[2:], "--output", path.name), path.parent)
    assert code == 0, err
    table.unlink()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def model_with(old: str, new: str) -> Maker:
    return lambda path: model_file(path, old, new)


def options(
    option: str, *values: str, words: tuple[str, ...] = (), to: tuple[str, ...] = SELECT
) -> Iterator[Case]:
    for value in values:
        yield Case(f"{to[0]} {option} {value[:20]}", (*to, option, value), (option, *words))


def tomls(name: str, text: Content, *words: str) -> Case:
    return Case(f"TOML: {name}", SOLVE, ("instance.toml", *words), {"instance.toml": text})


def tables(name: str, text: Content, *words: str, more: tuple[str, ...] = ()) -> Case:
    return Case(f"CSV: {name}", (*SELECT, *more), ("data.csv", *words), {"data.csv": text})


def with_ridge(value: str) -> str:
    return INSTANCE.replace("ridge = 0.5", f"ridge = {value}")


CASES: list[Case] = [
    # Numbers at the ends of what floats can hold.
    *(
        Case(f"select {option} {value}", (*SELECT, option, value), ("data.csv",))
        for option, value in (
            ("--x-bound", "1e308"),
            ("--y-bound", "1e308"),
            ("--coef-bound", "5e-324"),
            ("--ridge", "5e-324"),
        )
    ),
    tomls("x_bound = 1e308", INSTANCE.replace("x_bound = 1.0", "x_bound = 1e308")),
    tomls("ridge = 5e-324", with_ridge("5e-324")),
    *options("--support-size", "0", "4", words=("data.csv", "1..3")),
    *options("--loss", "cubic", words=("known",)),
    *options("--solver", "abacus"),
    *options("--pool-size", "9" * 5000, "0", "most", words=("'all'",),
             to=(*SELECT, "--method", "top-r")),
    *options("--sizes", "9" * 5000, "1-9999999", "3-1", "٣", to=RELEASE),
    *options("--complexity", "-1", "1e308", "nan", to=(*RELEASE, "--sizes", "1-2"),
             words=("0..100",)),
    *(
        Case(f"{command[0]}: a pool of {size}", (*command, "--pool-size", size),
             (name, "pool size", "at most 10,000,000"), {"data.csv": WIDE, "instance.toml": TWENTY})
        for command, name in (
            (("solve", "instance.toml"), "instance.toml"),
            ((*RELEASE, "--method", "top-r"), "instance.toml"),
            (("select", "data.csv", *COMMON, "--support-size", "20", "--method", "top-r"),
             "data.csv"),
        )
        for size in ("all", "99999999999999")
    ),
    Case("--x-bound of 400 digits", (*SELECT, "--x-bound", "1" * 400), ("x_bound", "finite")),
    *options("--seed", "1" * 5000),
    *options("--data-seed", "9" * 400, to=(*REPRODUCE, ".")),
    Case("ridge 0", (*RELEASE, "--method", "top-r"), ("instance.toml", "ridge"),
         {"instance.toml": with_ridge("0")}),
    # Instance files.
    tomls("400 digits", with_ridge("1" * 400), "ridge", "number"),
    tomls("5,000 digits", with_ridge("1" * 5000), "not valid TOML"),
    tomls("400 digits of support_size", INSTANCE.replace("size = 2", "size = 1" + "0" * 400)),
    tomls("a list of sources", INSTANCE.replace('"table"', '["table"]'), "source", "known"),
    tomls("nested brackets", INSTANCE + "x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    tomls("value = inf", EXPECTED.format("inf"), "[expected] value", "finite"),
    tomls("value = nan", EXPECTED.format("nan"), "[expected] value", "finite"),
    tomls("levels = inf", EXPECTED.format("1.0\nlevel_values = [inf]"), "level_values", "finite"),
    tomls("UTF-16", INSTANCE.encode("utf-16"), "UTF-8"),
    tomls("a bad byte", INSTANCE.encode() + b"# \xff", "line 12", "UTF-8"),
    tomls("two megabytes", INSTANCE + "#" * 2_000_000, "1,048,576 bytes"),
    tomls("a zero in a path", INSTANCE.replace("data.csv", "a\\u0000.csv"), "cannot be read"),
    tomls("an endless device", link_to("/dev/zero"), "pipe or a device"),
    tomls("a pipe", os.mkfifo, "pipe or a device"),
    tomls("a folder", Path.mkdir, "folder"),
    tomls("n = 99999999999999", RECIPE.format(99999999999999), "memory"),
    tomls("p = 99999999999999", RECIPE.format(99).replace("p = 6", "p = 99999999999999"), "memory"),
    tomls("n of 31 digits", RECIPE.format(10**30), "n · p"),
    tomls("n of 401 digits", RECIPE.format(10**400), "n · p"),
    Case("TOML: a byte order mark", SOLVE, ("Certified: yes",),
         {"instance.toml": b"\xef\xbb\xbf" + INSTANCE.encode()}, code=0),
    # .npz files.
    *(
        Case(f"npz: {name}", SOLVE, ("data.npz", *words), {"instance.toml": NPZ, "data.npz": made})
        for name, made, *words in (
            ("no array", npz_with_text_member, "X"),
            ("a shape too large", npz_too_large),
            ("text", npz(X=np.array([["a", "b"]]), y=np.ones(1)), "X must hold real numbers"),
            ("text in y", npz(X=np.ones((1, 3)), y=np.array(["a"])), "y must hold real numbers"),
            ("complex", npz(X=np.ones((1, 3)) * 1j, y=np.ones(1)), "X must hold real numbers"),
            ("infinite", npz(X=np.full((1, 3), np.inf), y=np.ones(1)), "(sensitive)", "finite"),
            ("no y", npz(X=np.ones((1, 3))), "the arrays X and y"),
            ("a pipe", os.mkfifo, "pipe or a device"),
            ("endless", link_to("/dev/zero"), "pipe or a device"),
            ("half a file", b"PK\x03\x04 and no more", "cannot be read"),
        )
    ),
    # Names of 300 letters.
    Case("long: INSTANCE", ("solve", LONG), ("neither a stored instance nor a .toml",)),
    *(
        Case(f"long: {words[0]}", arguments, words[1:])
        for *words, arguments in (
            ("TOML", "cannot be read", ("solve", LONG + ".toml")),
            ("CSV", "cannot be read", ("select", LONG + ".csv", *COMMON)),
            ("Parquet", "cannot be read", ("select", LONG + ".parquet", *COMMON)),
            ("--output", "name too long", (*SOLVE, "--output", LONG)),
            ("release --output", "name too long", (*RELEASE, "--output", LONG)),
            ("compare --output", "name too long", ("compare", "tiny-plain", "--output", LONG)),
            ("reproduce --output", "name too long", (*REPRODUCE, LONG)),
        )
    ),
    tomls("a long path", INSTANCE.replace("data.csv", LONG + ".csv"), "cannot be read"),
    tomls("a long path of .npz", NPZ.replace("data.npz", LONG + ".npz"), "cannot be read"),
    # What may not be read or written.
    *(
        Case(f"locked: {words[0]}", arguments, words[1:], {"locked": locked_folder}, as_nobody=True)
        for *words, arguments in (
            ("CSV", "data.csv: cannot be read: Permission denied",
             ("select", "locked/data.csv", *COMMON)),
            ("TOML", "cannot be read: Permission denied", ("solve", "locked/x.toml")),
            ("--output", "--output locked/x.json",
             ("solve", "tiny-plain", "--output", "locked/x.json")),
            ("reproduce", "--output locked/made", (*REPRODUCE, "locked/made")),
        )
    ),
    Case("--output: a device", (*RELEASE, "--output", "/dev/null"), ("not a regular file",)),
    Case("--output: read-only", (*RELEASE, "--output", "kept.json"), ("read-only",),
         {"kept.json": read_only}),
    Case("--output: its own table", (*SELECT, "--output", "data.csv"), ("is what is read",)),
    Case("--output: its own file", (*SOLVE, "--output", "instance.toml"), ("is what is read",)),
    Case("--output: its own data", (*RELEASE, "--output", "./data.csv"), ("is what is read",)),
    Case("--output: another name of it", (*SELECT, "--output", "same.csv"), ("is what is read",),
         {"same.csv": lambda path: path.hardlink_to(path.with_name("data.csv"))}),
    Case("--output: a link", (*SELECT, "--output", "link.json"), ("symbolic link",),
         {"link.json": link_to("data.csv")}),
    Case("compare --output: its own data", ("compare", "instance.toml", "--output", "data.csv"),
         ("is what is read",)),
    # Tables.
    *(
        Case(f"pipe: {name}", ("select", name, *COMMON), (name, "pipe or a device"),
             {name: os.mkfifo})
        for name in ("pipe.csv", "pipe.csv.gz", "pipe.parquet")
    ),
    tables("endless", link_to("/dev/zero"), "pipe or a device"),
    Case("Parquet: endless", ("select", "d.parquet", *COMMON), ("d.parquet", "pipe or a device"),
         {"d.parquet": link_to("/dev/zero")}),
    tables("a folder", Path.mkdir, "folder"),
    tables("dates", "day,a,b,y\n2020-01-31,1,2,3\n", "'day'", "leave this column out"),
    tables("times", "day,a,b,y\n2020-01-31T10:00:00,1,2,3\n", "'day'", "leave this column out"),
    Case("Parquet: dates", ("select", "d.parquet", *COMMON), ("'day'", "leave this column out"),
         {"d.parquet": dates_in_parquet}),
    tables("an index without a name", ",a,b,y\n0,1,2,3\n", "column 1 has no name", "leave it out"),
    tables("two columns without names", "y,a,,b,\n0,1,2,3,4\n", "column 3 has no name"),
    tables("a quote open", 'a,b,c,y\n1,2,3,4\n"1,2,3,4\n1,2,3,4\n', "line 3", "never closed"),
    tables("a quote open in the end", 'a,b,c,y\n1,2,3,"4\n', "line 2", "never closed"),
    tables("a quote open in another column", 'a,b,y,n\n1,2,3,"x\n1,2,3,z\n', "line 2",
           "never closed", more=("--features", "a,b")),
    tables("letters after a quote", 'a,b,y,n\n1,2,3,"x\n1,2,3,"z\n', "line 2", "expected after",
           more=("--features", "a,b")),
    tables("a long value", "a,b,y\n1,2," + "7" * 200_000 + "\n", "131,072"),
    tables("a very long value", "a,b,y\n1,2," + "x" * 3_000_000 + "\n", "line 2", "131,072"),
    tables("a header alone", "a,b,y", "no rows"),
    tables("UTF-16", TABLE.encode("utf-16"), "UTF-16", "save the file as UTF-8"),
    tables("UTF-16 without a mark", TABLE.encode("utf-16-le"), "UTF-16", "UTF-8"),
    tables("a bad byte in another column", b"a,b,y,n\n1,2,3,x\n1,2,3,\xe9\n", "line 3",
           "save the file as UTF-8", more=("--features", "a,b")),
    tables("a bad byte in the header", b"a,b\xe9,c,y\n1,2,3,4\n", "the header", "UTF-8"),
    tables("a value", "a,b,y\n1,red,3\n", "(sensitive)", "line 2, column 'b' holds no finite"),
    tables("40,000 columns without the target", ",".join(f"c{j}" for j in range(40_000)) + "\n1\n",
           "there is no column y", "39980 more"),
    tables("escape sequences in names", "\x1b[31ma,b,c\n1,2,3\n", "\\x1b[31ma"),
    # What a newcomer types: a table as an instance, a spreadsheet, no schema, a wrong name.
    *(
        Case(f"a table as an instance: {command[0]} {command[1]}", command, (
            f"{command[1]}' is neither", "'mipselect select' and 'fit' take tables",
        ), {"t.parquet": b""})
        for command in (
            ("release", "data.csv", "--epsilon", "1"),
            ("compare", "t.parquet"),
        )
    ),
    Case("a table without a target: solve", ("solve", "data.csv"),
         ("data.csv: is a table", "--target and --support-size")),
    *(
        Case(f"a spreadsheet: {command[0]} with {len(command)} words, {ending}",
             [f"t.{ending}" if word == "t" else word for word in command],
             (f"t.{ending}: {words}",),
             {f"t.{ending}": b"PK\x03\x04", "schema.json": SCHEMA, "model.json": model_file})
        for command in (
            ("select", "t", *COMMON), ("fit", "t", *FIT[2:]), ("describe", "t"),
            ("fit", "t", *FIT_BY_SCHEMA[2:]), ("predict", "model.json", "t"),
        )
        for ending, words in (
            ("xlsx", "cannot be read as Excel"), ("sav", "cannot be read"),
            ("ods", "a table must end in"), ("xls", "a table must end in"),
        )
    ),
    Case("no schema: select", ("select", "data.csv", *ASKED, "--score", "loss"),
         ("error: --schema (begin one with 'mipselect describe') or, for a table of numbers",
          "--x-bound", "must be given")),
    tables("text without a schema", "a,b,y\n1,red,3\n", "(sensitive)", "describe the table in a "
           "schema", "'mipselect describe', then --schema"),
    *(
        Case(f"an unknown method: {command[0]}", (*command, "--method", "sise"),
             ("Invalid value for '--method': must be one of permute",
              "did you mean 'sis'?"))
        for command in (SELECT, RELEASE)
    ),
    *(
        Case(f"a field that is not there: {name}", (*command, "--schema", "schema.json"),
             ("there is no column a", "columns: ", "did you mean 'aa'?"),
             {"data.csv": "aa,y\n1,2\n", "schema.json": SCHEMA})
        for name, command in (("fit", FIT_BY_SCHEMA[:-2]), ("select", ("select", "data.csv",
                                                                        *ASKED)))
    ),
    Case("classes: more than two", (*SELECT, "--loss", "hinge"), ("(sensitive)", "two classes")),
    Case("--features: a quote open", (*SELECT, "--features", '"a,b'), ("--features", "quote")),
    Case("--features: a name with a comma", (*SELECT, "--features", '"a,b",c', "--json"),
         ('"features": ["a,b", "c"]',), {"data.csv": '"a,b",c,y\n1,2,3\n4,5,6\n'}, code=0),
    Case("--features: outer blanks", (*SELECT, "--features", '" a", c', "--json"),
         ("there is no column ' a'", "did you mean 'a'?"), {"data.csv": " a,c,y\n1,2,3\n4,5,6\n"}),
    Case("a long name in a pipe", SELECT, (f"a, {LONG[:200]}",),
         {"data.csv": f"a,{LONG[:200]},y\n1,2,3\n4,5,6\n"}, code=0),
    # Models and what they are fitted to.
    *options("--epsilon", "1e308", "0", "nan", "1e-300", to=FIT),
    *options("--model-loss", "cubic", "huber(-1)", "huber(nan)", "huber(1e308)", to=FIT),
    *options("--support-size", "9", "0", to=FIT, words=("data.csv", "1..3")),
    *options("--seed", "1" * 5000, to=FIT),
    Case("fit: text", FIT, ("(sensitive)", "line 2, column 'b' holds no finite"),
         {"data.csv": "a,b,y\n1,red,3\n"}),
    Case("fit: a long name", FIT, ("200",),
         {"data.csv": f"a,{LONG},y\n1,2,3\n"}),
    Case("fit: a header alone", FIT, ("data.csv", "no rows"), {"data.csv": "a,b,y\n"}),
    Case("fit: a header alone, with a schema", FIT_BY_SCHEMA, ("data.csv", "no rows"),
         {"data.csv": "a,y\n", "schema.json": SCHEMA}),
    Case("fit: another table", FIT_BY_SCHEMA, ("data.csv", "there is no column a"),
         {"data.csv": "b,y\n1,2\n", "schema.json": SCHEMA}),
    Case("fit: any rows", (*FIT_BY_SCHEMA, "--json"), ('"private": true',),
         {"data.csv": b"a,y\n\x00,\xff\n1e999,nan\n,,,,\n\n", "schema.json": SCHEMA}, code=0),
    Case("fit --output: its own schema", (*FIT_BY_SCHEMA, "--output", "schema.json"),
         ("is what is read",), {"schema.json": SCHEMA}),
    Case("fit --output: its own table", (*FIT_BY_SCHEMA, "--output", "data.csv"),
         ("is what is read",), {"schema.json": SCHEMA}),
    Case("fit: an endless table", FIT, ("pipe or a device",), {"data.csv": link_to("/dev/zero")}),
    Case("fit: an endless schema", FIT_BY_SCHEMA, ("schema.json", "pipe or a device"),
         {"schema.json": link_to("/dev/zero")}),
    *(
        Case(f"model: {name}", PREDICT, ("model.json", *words), {"model.json": content})
        for name, content, *words in (
            ("a pickle", b"\x80\x04\x95\x00\x00.", "UTF-8"),
            ("a list", "[1, 2]", "not a stored model"),
            ("a number", "5", "not a stored model"),
            ("nothing", "", "not valid JSON"),
            ("deep nesting", "[" * 100_000, "nested too deeply"),
            ("a key twice", model_with('"format":', '"format": 1, "format":'), "stands twice"),
            ("NaN", model_with('"intercept": ', '"intercept": NaN, "x": '), "NaN is no number"),
            ("1e999", model_with('"version": 1', '"version": 1, "x": 1e999'), "'x'"),
            ("400 digits", model_with('"version": 1', '"version": ' + "1" * 400), "version"),
            ("5,000 digits", model_with('"version": 1', '"version": ' + "1" * 5000), "not valid"),
            ("escape sequences", model_with('"version": 1', '"version": 1, "\\u001b[31m": 1'),
             "x1b[31m"),
            ("a pipe", os.mkfifo, "pipe or a device"),
            ("a folder", Path.mkdir, "folder"),
            ("endless", link_to("/dev/zero"), "pipe or a device"),
            ("another report", '{"command": "release", "releases": []}', "not a stored model"),
            ("no model", '{"command": "fit"}', "not a stored model"),
        )
    ),
    Case("predict: a long name", ("predict", LONG, "data.csv"), ("cannot be read",)),
    Case("predict: another table", PREDICT, ("data.csv", "there is no column"),
         {"model.json": model_file, "data.csv": "x,z\n1,2\n"}),
    Case("predict: an endless table", PREDICT, ("data.csv", "pipe or a device"),
         {"model.json": model_file, "data.csv": link_to("/dev/zero")}),
    Case("predict: no table", ("predict", "model.json", "none.csv"), ("none.csv", "no such file"),
         {"model.json": model_file}),
    Case("predict --output: its own model", (*PREDICT, "--output", "model.json"), (".csv",),
         {"model.json": model_file}),
    Case("predict --output: its own table", (*PREDICT, "--output", "data.csv"),
         ("is what is read",), {"model.json": model_file}),
    Case("predict --output: a link", (*PREDICT, "--output", "link.csv"), ("symbolic link",),
         {"model.json": model_file, "link.csv": link_to("data.csv")}),
    Case("predict --output: read-only", (*PREDICT, "--output", "kept.csv"), ("read-only",),
         {"model.json": model_file, "kept.csv": read_only}),
    Case("predict: any rows", PREDICT, ("y\n",),
         {"model.json": model_file, "data.csv": b"a,b,c\n\x00,\xff,\n1e999,,nan\n"}, code=0),
    # A table beside its schema.
    *(
        Case(f"check: {name}", (*CHECK, *more), words, {"schema.json": SCHEMA, **files})
        for name, more, words, files in (
            ("no table", (), ("data.csv", "no such file"), {"data.csv": link_to("nowhere.csv")}),
            ("an endless table", (), ("pipe or a device",), {"data.csv": link_to("/dev/zero")}),
            ("a pipe", (), ("pipe or a device",), {"data.csv": os.mkfifo}),
            ("another table", (), ("data.csv", "there is no column"), {"data.csv": "u,v\n1,2\n"}),
            ("two headers", (), ("two columns are called a",), {"data.csv": "a,a,y\n1,2,3\n"}),
            ("no header", (), ("data.csv", "no header"), {"data.csv": ""}),
            ("UTF-16", (), ("UTF-8",), {"data.csv": "a,y\n1,2\n".encode("utf-16")}),
            ("no schema", (), ("schema.json", "not valid JSON"), {"schema.json": "{"}),
            ("endless output", ("--output", "page.html"), ("symbolic link",),
             {"page.html": link_to("/dev/full")}),
            ("read-only output", ("--output", "page.html"), ("read-only",),
             {"page.html": read_only}),
            ("its own table", ("--output", "data.csv"), ("is what is read",), {}),
        )
    ),
    Case("check: any rows", CHECK, ("SENSITIVE", "unreadable"), code=0,
         files={"schema.json": SCHEMA, "data.csv": b"a,y\n\x00,\xff\n1e999,nan\n3\n,,,\n\"\n"}),
    # Files of trials.
    Case("reproduce: no trials", (*REPRODUCE, "."), (f"{TRIALS}, line 1", "nested too deeply"),
         {TRIALS: "[" * 100_000 + "]" * 100_000 + "\n"}),
    Case("reproduce: a pipe", (*REPRODUCE, "."), ("not a regular file",), {TRIALS: os.mkfifo}),
    Case("reproduce: endless", (*REPRODUCE, "."), ("symbolic link",),
         {TRIALS: link_to("/dev/zero")}),
    Case("reproduce: a folder", (*REPRODUCE, "."), (TRIALS, "regular"), {TRIALS: Path.mkdir}),
]  # fmt: skip


def from_python() -> Mapping[str, Callable[[], object]]:
    """Calls that must raise `MipselectError` with one line."""
    from mipselect import Instance, TopR, load_instance, top_supports
    from mipselect.regression import AdaSSPRegressor, ObjectivePerturbationClassifier
    from mipselect.selectors import ExponentialSelector, SISSelector

    settings = {"support_size": 1, "x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    X, y = np.ones((2, 2)), np.ones(2)
    huge = 10**400
    pool = top_supports(load_instance("tiny-plain"), 3)
    words = np.array([[1.0, "female"], [2.0, "male"]], dtype=object)
    model = AdaSSPRegressor(x_bound=1.0, y_bound=1.0, random_state=0).fit(X, y).release_
    classifier = ObjectivePerturbationClassifier(x_bound=1.0, coef_bound=1.0, classes=[0, "a"])
    return {
        "a selector of scores on text": lambda: SISSelector(1, x_bound=1, y_bound=1).fit(words, y),
        "a selector of a problem on text": lambda: ExponentialSelector(1).fit(words, y),
        "a regressor on text": lambda: AdaSSPRegressor(x_bound=1, y_bound=1).fit(words, y),
        "decision of a path": lambda: model.decision("data.csv"),
        "predict of a path": lambda: model.predict("data.csv"),
        "decision of text": lambda: model.decision(words),
        "classes of two kinds": lambda: classifier.fit(X, y),
        "X of 400 digits": lambda: Instance([[huge, 1], [1, 2]], y, **settings),
        "y of 400 digits": lambda: Instance(X, [huge, 1], **settings),
        "x_bound of 400 digits": lambda: Instance(X, y, **{**settings, "x_bound": huge}),
        "support_size of 400 digits": lambda: Instance(X, y, **{**settings, "support_size": huge}),
        "release('x')": lambda: TopR(pool, 1.0).release("x"),  # type: ignore[arg-type]
        "load_instance(None)": lambda: load_instance(None),  # type: ignore[arg-type]
        "load_instance(10**400)": lambda: load_instance(huge),  # type: ignore[arg-type]
    }


def call_falls_short(call: Callable[[], object]) -> str:
    try:
        call()
    except errors.MipselectError as error:
        return "" if len(str(error)) < LONGEST and "\n" not in str(error) else "not one short line"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"[:300]
    return "nothing was raised"
