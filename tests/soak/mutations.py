"""Forty single faults, each of which the tests that are named with it must notice.

    python -m tests.soak.mutations [--only WORD]

Each change is made in a copy of the repository. It is noticed if a test fails, without deep ones.
It is an error if the old text is not found exactly once in the file: whoever rewrites the line
rewrites the change. Prints what is not noticed, and how many are.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.soak.mutated import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
WORKERS = 2
SECONDS = 1_200
LINKED = {"mipselect_papers": "papers", "mipselect_solvers": "solvers"}
"""Packages by the folder of their files: in a copy they must not be found in the repository."""


@dataclass(frozen=True)
class Copy:
    """A copy of the repository, in which one change at a time is made."""

    folder: Path

    @classmethod
    def of_the_repository(cls, folder: Path) -> Copy:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        for package, files in LINKED.items():
            (folder / package).symlink_to(files)
        return cls(folder)

    @contextmanager
    def changed(self, mutation: Mutation) -> Iterator[None]:
        path = self.folder / mutation.file
        text = path.read_text(encoding="utf-8")
        try:
            self._write(path, text.replace(mutation.old, mutation.new))
            yield
        finally:
            self._write(path, text)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        # Python goes by the second of the last change.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests until one fails; return pytest's exit code and what it says last."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return done.returncode, "\n".join(done.stdout.splitlines()[-4:])


def misplaced(mutations: Sequence[Mutation]) -> list[str]:
    """Say which old texts are not found exactly once."""
    found = []
    for mutation in mutations:
        path = ROOT / mutation.file
        count = path.read_text(encoding="utf-8").count(mutation.old) if path.is_file() else 0
        if count != 1:
            found.append(f"{mutation.file}: found {count} times: {mutation.old!r}")
    return found


def unnoticed(mutations: Sequence[Mutation], folder: Path) -> Iterator[str]:
    """Yield what no test notices; at first, what fails without any change."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(WORKERS):
        (folder / str(number)).mkdir()
        copies.put(Copy.of_the_repository(folder / str(number)))

    def judge(mutation: Mutation) -> str:
        copy = copies.get()
        try:
            with copy.changed(mutation):
                code, said = copy.run(mutation.tests)
        finally:
            copies.put(copy)
        print("x" if code == 1 else ".", end="", flush=True)
        return "" if code == 1 else f"{mutation.file}: {mutation.why} (code {code})\n{said}"

    def unchanged(tests: Sequence[str]) -> str:
        copy = copies.get()
        try:
            code, said = copy.run(tests)
        finally:
            copies.put(copy)
        return f"without any change: {said}" if code else ""

    tests = sorted({test for mutation in mutations for test in mutation.tests})
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(unchanged, [tests[k::WORKERS] for k in range(min(WORKERS, len(tests)))])
        yield from pool.map(judge, mutations)
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.soak.mutations")
    parser.add_argument("--only", default="", help="those whose file or sentence has this word")
    word = parser.parse_args().only
    mutations = [one for one in MUTATIONS if word in one.file or word in one.why]
    if wrong := misplaced(mutations):
        print(*wrong, sep="\n")
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        missed = [each for each in unnoticed(mutations, Path(folder)) if each]
    print(*missed, sep="\n\n")
    print(f"{len(mutations) - len(missed)} of {len(mutations)} are noticed")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
