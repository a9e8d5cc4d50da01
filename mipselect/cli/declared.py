"""Options of a command, declared once: as fields of a dataclass, the one argument of the command.

A dataclass may have groups of options, which are dataclasses too and which several commands share::

    @options
    class HelloArguments:
        name: str = argument("NAME", "Whom to greet.")
        loud: bool = option("--loud", "In capital letters.", default=False)
        delivery: Delivery = group(Delivery)


    @command
    def hello(arguments: HelloArguments) -> None:
        ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from dataclasses import Field as DataclassField
from inspect import Parameter
from types import NoneType
from typing import (
    Annotated,
    Any,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from mipselect.errors import InvalidInput
from mipselect.validation import did_you_mean, plain_digits, shown

DECLARED = "declared"
"""Key of an option or a group in the metadata of a field."""

FURTHER = "further"
"""Name of a field, a mapping, for options that no field declares, by their names."""

Group = TypeVar("Group")
Arguments = TypeVar("Arguments")
Run = TypeVar("Run", bound=Callable[..., None])


@dataclass(frozen=True)
class DeclaredOption:
    """An option, or an argument.

    Attributes
    ----------
    name : str
        On the command line: "--name"; of an argument its metavar.
    words : mapping
        Keyword arguments of `typer.Option` or `typer.Argument`.
    annotation, default
        Those of the field.
    choices : collection of str
        The texts that it takes; empty if it takes any.
    """

    name: str
    words: Mapping[str, Any]
    annotation: Any = None
    default: Any = None
    choices: Collection[str] = ()

    def told(self, **words: Any) -> DeclaredOption:
        """Return it with those of these words that are not None in place of its own."""
        others = {name: text for name, text in words.items() if text is not None}
        return replace(self, words={**self.words, **others})

    @property
    def by_place(self) -> bool:
        """True for an argument; an option is given by its name."""
        return not self.name.startswith("--")

    @property
    def field(self) -> str:
        """Name in Python: top_k of --top-k."""
        return re.sub(r"\W", "_", self.name.removeprefix("--")).lower()

    @property
    def kind(self) -> type:
        """Type of its value where there is one: list for several."""
        kinds = [kind for kind in get_args(self.annotation) if kind is not NoneType]
        is_alone = get_origin(self.annotation) in (None, list)
        kind = self.annotation if is_alone else kinds[0]
        found: type = get_origin(kind) or kind
        return found

    @property
    def required(self) -> bool:
        """True if it must be given."""
        return self.default is MISSING

    @property
    def parser(self) -> Callable[[object], Any] | None:
        """Function that reads a number, or one of the choices; None for any text."""
        if self.kind in (int, float):
            return _reader(self.kind)
        return _chooser(self.choices) if self.choices else None

    @property
    def parameter(self) -> Parameter:
        """Parameter of a function as typer reads it."""
        words = dict(self.words)
        if self.parser is not None:
            words["parser"] = self.parser
        told = typer.Argument(**words) if self.by_place else typer.Option(self.name, **words)
        return Parameter(
            self.field,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if self.required else self.default,
            annotation=Annotated[self.annotation, told],
        )


def _reader(kind: type[int | float]) -> Callable[[object], int | float]:
    """Return the function that reads the number of an option, for typer to name the option."""
    wanted = "an integer" if kind is int else "a number"

    def number(text: object) -> int | float:
        try:
            return kind(plain_digits(str(text)))
        except ValueError:
            raise typer.BadParameter(f"must be {wanted}, got {shown(text)}") from None

    return number


def _chooser(choices: Collection[str]) -> Callable[[object], str]:
    """Return the function that reads one of some texts."""

    def chosen(text: object) -> str:
        if isinstance(text, str) and text in choices:
            return text
        hint = did_you_mean(text, choices)
        raise typer.BadParameter(f"must be one of {', '.join(choices)}, got {shown(text)}{hint}")

    return chosen


@dataclass(frozen=True)
class _Group:
    """A group as one command has it: see `group`."""

    kind: type
    without: Collection[str]
    panel: str | None
    help: Mapping[str, str]

    def options(self) -> Iterator[DeclaredOption]:
        """Yield the options of the group, in the words of the command."""
        for option in _options(self.kind):
            if option.name not in self.without:
                yield option.told(rich_help_panel=self.panel, help=self.help.get(option.name))


def option(
    name: str,
    help: str,
    *,
    default: Any = None,
    metavar: str | None = None,
    show_default: bool | str = True,
    panel: str | None = None,
    choices: Collection[str] = (),
) -> Any:
    """Declare a field as an option.

    Parameters
    ----------
    name : str
        Such as "--name".
    help, metavar, show_default : str
        Texts of --help.
    default : object
        Value where the option is not given.
    panel : str, optional
        Title of the panel of --help that it stands in; default: the PANEL of its class, if any.
    choices : collection of str, optional
        The texts that are taken.
    """
    metavar = "|".join(choices) or metavar
    words: dict[str, Any] = {"help": help, "metavar": metavar, "show_default": show_default}
    words["rich_help_panel"] = panel
    declared = DeclaredOption(name, words, choices=choices)
    return field(default=default, metadata={DECLARED: declared})


def required(name: str, help: str, *, metavar: str | None = None, panel: str | None = None) -> Any:
    """Declare a field as an option that must be given; see `option`."""
    return option(name, help, default=MISSING, metavar=metavar, panel=panel)


def argument(metavar: str, help: str, *, default: Any = MISSING) -> Any:
    """Declare a field as an argument, which is given by its place."""
    words = {"help": help, "metavar": metavar, "rich_help_panel": None}
    return field(default=default, metadata={DECLARED: DeclaredOption(metavar, words)})


def group(
    kind: type[Group],
    *,
    without: Collection[str] = (),
    panel: str | None = None,
    help: Mapping[str, str] | None = None,
) -> Group:
    """Declare a field as a group of options that is declared elsewhere.

    Parameters
    ----------
    kind : type
        Dataclass of options.
    without : collection of str
        Options that the command does not have: "--name". Their fields keep their defaults.
    panel : str, optional
        Panel of all of them in --help, in place of their own.
    help : mapping, optional
        Other texts for some of them, by "--name".
    """
    declared = _Group(kind, without, panel, help or {})
    return field(default_factory=kind, metadata={DECLARED: declared})


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(kind: type[Group]) -> type[Group]:
    """Make a class a frozen, keyword-only dataclass, whose fields are declared."""
    return dataclass(frozen=True, kw_only=True)(kind)


def command(run: Run) -> Run:
    """Declare a function of one dataclass of options as a command; its docstring is its help.

    It imports what it works with itself: so --help, and a word that is wrong, cost none of that.
    """
    kind = next(iter(get_type_hints(run).values()))
    # Of several that are missing typer names the first: arguments, then options.
    declared = sorted(_options(kind), key=lambda each: (not each.required, not each.by_place))
    run.arguments, run.declared = kind, tuple(declared)  # type: ignore[attr-defined]
    return run


def declared_of(run: Callable[..., None]) -> tuple[DeclaredOption, ...]:
    """Return options and arguments of what is declared by `command`."""
    declared: tuple[DeclaredOption, ...] = run.declared  # type: ignore[attr-defined]
    return declared


def call(run: Callable[..., None], values: Mapping[str, Any]) -> None:
    """Run what is declared by `command` with the values of its options, by their names."""
    own = {option.name for option in declared_of(run)}
    more = {name: value for name, value in values.items() if name not in own}
    run(_built(run.arguments, values, more))  # type: ignore[attr-defined]


def given(chosen: Any) -> dict[str, Any]:
    """Return the options of a group that are not at their defaults, by their names."""
    more = getattr(chosen, FURTHER, {})
    found: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
    for each, declared in _declared(type(chosen)):
        value = getattr(chosen, each.name)
        if isinstance(declared, _Group):
            found |= given(value)
        elif each.default is not MISSING and value != each.default:
            found[declared.name] = value
    return found


def names_of(kind: type) -> tuple[str, ...]:
    """Return the names of all options of a group."""
    return tuple(option.name for option in _options(kind))


def refuse(chosen: Any, why: str, names: Collection[str] | None = None) -> None:
    """Raise `InvalidInput` if an option of a group, or one of `names`, has no place here."""
    for name in given(chosen):
        if names is None or name in names:
            raise InvalidInput(f"{name} {why}")


def _declared(kind: Any) -> Iterator[tuple[DataclassField[Any], DeclaredOption | _Group]]:
    for each in fields(kind):
        if each.name != FURTHER:
            yield each, each.metadata[DECLARED]


def _options(kind: type) -> Iterator[DeclaredOption]:
    """Yield all options of a dataclass and of its groups, in the order of the fields."""
    types, panel = get_type_hints(kind), getattr(kind, "PANEL", None)
    for each, declared in _declared(kind):
        if isinstance(declared, _Group):
            yield from declared.options()
        else:
            own = declared.told(rich_help_panel=declared.words["rich_help_panel"] or panel)
            yield replace(own, annotation=types[each.name], default=each.default)


def _built(kind: type[Arguments], values: Mapping[str, Any], more: Mapping[str, Any]) -> Arguments:
    """Make a dataclass of the values of options, by their names; `more` of what is `FURTHER`."""
    chosen: dict[str, Any] = {FURTHER: more} if FURTHER in get_type_hints(kind) else {}
    for each, declared in _declared(kind):
        if isinstance(declared, _Group):
            own = {name: v for name, v in values.items() if name not in declared.without}
            chosen[each.name] = _built(declared.kind, own, more)
        elif declared.name in values:
            chosen[each.name] = values[declared.name]
    return kind(**chosen)
