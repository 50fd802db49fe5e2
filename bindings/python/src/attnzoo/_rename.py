"""State dicts: which of their names are which parameters. The rules are those of the command's --rename (doc/weights.md).
"""
from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._errors import InvalidArgumentError, UnknownNameError, UnsupportedError
from ._introspection import Description

#: What says how names are to be read: a preset or a rule, several, or a mapping of old names to new ones.
Rename = Union[None, str, Sequence[str], Mapping[str, Optional[str]]]

PRESETS: Dict[str, Tuple[str, ...]] = {
    # torch.nn.MultiheadAttention. Its out_proj is called as here.
    "pytorch": (
        "in_proj_weight[1/3]=query_proj.weight", "in_proj_weight[2/3]=key_proj.weight",
        "in_proj_weight[3/3]=value_proj.weight", "in_proj_bias[1/3]=query_proj.bias",
        "in_proj_bias[2/3]=key_proj.bias", "in_proj_bias[3/3]=value_proj.bias",
        "q_proj_weight=query_proj.weight", "k_proj_weight=key_proj.weight", "v_proj_weight=value_proj.weight",
    ),
    # The transformers library: BART, Whisper, CLIP, wav2vec 2.0, Llama, Mistral, Qwen; BERT, RoBERTa, ELECTRA; ViT, DeiT;
    # both of these behind a longer prefix; DistilBERT; T5.
    "huggingface": (
        "q_proj.*=query_proj.*", "k_proj.*=key_proj.*", "v_proj.*=value_proj.*", "o_proj.*=out_proj.*",
        "self.query.*=query_proj.*", "self.key.*=key_proj.*", "self.value.*=value_proj.*", "output.dense.*=out_proj.*",
        "attention.query.*=query_proj.*", "attention.key.*=key_proj.*", "attention.value.*=value_proj.*",
        "query.*=query_proj.*", "key.*=key_proj.*", "value.*=value_proj.*",
        "q_lin.*=query_proj.*", "k_lin.*=key_proj.*", "v_lin.*=value_proj.*", "out_lin.*=out_proj.*",
        "q.*=query_proj.*", "k.*=key_proj.*", "v.*=value_proj.*", "o.*=out_proj.*",
    ),
}


class Rule(NamedTuple):
    """OLD=NEW, with one * on each side at most, and rows: (A, B) of [A:B], or part and count of [I/N]."""

    text: str
    old: str
    new: str
    rows: Optional[Tuple[int, int]]
    part: Optional[Tuple[int, int]]
    is_preset: bool

    def fits(self, name: str) -> bool:
        head, star, tail = self.old.partition("*")
        if not star:
            return name == self.old
        return len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)

    def apply(self, name: str) -> str:
        head, star, tail = self.old.partition("*")
        return self.new.replace("*", name[len(head):len(name) - len(tail)]) if star else self.new

    def take_rows(self, array: Any, name: str) -> Any:
        if self.rows is None and self.part is None:
            return array
        count = array.shape[0] if len(array.shape) > 0 else 0
        first, last = self.rows or (0, 0)
        if self.part is not None:
            part, parts = self.part
            first, last = (part - 1) * (count // parts), part * (count // parts)
        if last > count or (self.part is not None and count % self.part[1] != 0):
            raise InvalidArgumentError(f"'{name}' has {count} rows, which does not fit {self.text}")
        return array[first:last]


def _read_rows(text: str, inside: str) -> Tuple[Optional[Tuple[int, int]], Optional[Tuple[int, int]]]:
    for separator in ":/":
        left, found, right = inside.partition(separator)
        if found and left.isascii() and right.isascii() and left.isdigit() and right.isdigit():
            pair = int(left), int(right)
            if separator == ":" and pair[0] < pair[1]:
                return pair, None
            if separator == "/" and 1 <= pair[0] <= pair[1]:
                return None, pair
    raise InvalidArgumentError(f"rename {text}: rows must be [A:B] with A below B, or [I/N] with I from 1 to N")


def _read_rule(old: str, new: str, is_preset: bool = False) -> Rule:
    text, rows, part = f"{old}={new}", None, None
    if not old:
        raise InvalidArgumentError(f"rename {text}: must be OLD=NEW, {' or '.join(PRESETS)}")
    if old.endswith("]"):
        old, bracket, inside = old[:-1].rpartition("[")
        if not bracket or not old:
            raise InvalidArgumentError(f"rename {text}: rows need a name in front")
        rows, part = _read_rows(text, inside)
    if old.count("*") > 1 or new.count("*") > old.count("*"):
        raise InvalidArgumentError(f"rename {text}: * may stand once on each side, and on the right only if on the left")
    return Rule(text, old, new, rows, part, is_preset)


def _split_rule(text: str) -> Tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals:
        raise InvalidArgumentError(f"rename {text}: must be OLD=NEW, {' or '.join(PRESETS)}")
    return old, new


def read_rules(rename: Rename) -> List[Rule]:
    """The rules that were written, then those of the presets that were named."""
    if rename is None:
        return []
    if isinstance(rename, Mapping):
        return [_read_rule(old, new or "") for old, new in rename.items()]
    texts = [rename] if isinstance(rename, str) else list(rename)
    if len(set(texts)) < len(texts):
        raise InvalidArgumentError(f"rename: a rule is given more than once: {texts}")
    rules = [_read_rule(*_split_rule(text)) for text in texts if text not in PRESETS]
    return rules + [rule for text in texts if text in PRESETS for rule in preset_rules(text)]


def preset_rules(name: str) -> List[Rule]:
    return [_read_rule(*_split_rule(text), is_preset=True) for text in PRESETS[name]]


_PRESET_RULES = {name: preset_rules(name) for name in PRESETS}
_WITHOUT_COUNTERPART = ("bias_k", "bias_v")
#: How many prefixes or names an error lists before it only says that there are more.
_LISTED = 6


class _Ending(NamedTuple):
    """The longest end of a name that is a parameter's, and the preset that it takes."""

    name: str
    preset: Optional[str]


def _find_ending(name: str, known: Sequence[str]) -> Optional[_Ending]:
    # No parameter, and no name of a preset, has more pieces than three.
    pieces = name.rsplit(".", 3)
    for start in range(len(pieces)):
        ending = ".".join(pieces[start:])
        if ending in known or ending in _WITHOUT_COUNTERPART:
            return _Ending(ending, None)
        presets = [preset for preset, rules in _PRESET_RULES.items() for rule in rules
                   if rule.fits(ending) and rule.apply(ending) in known]
        if presets:
            # Names of PyTorch are understood without being asked for.
            return _Ending(ending, None if "pytorch" in presets else presets[0])
    return None


def _refuse(description: Description, full_name: str, prefix: str, known: Sequence[str]) -> Exception:
    """What to raise for a name that is no parameter: with what would help, if it, or its end, is known otherwise."""
    ending = _find_ending(full_name[len(prefix):], known)
    if ending is not None and ending.name in _WITHOUT_COUNTERPART:
        return UnsupportedError(f"'{full_name}' (add_bias_kv=True in PyTorch) has no counterpart in {description.name}")
    if ending is not None:
        advice = [] if full_name == prefix + ending.name else [f"prefix='{full_name[:-len(ending.name)]}'"]
        advice += [] if ending.preset is None else [f"rename='{ending.preset}'"]
        return UnknownNameError(f"'{full_name}' is no parameter of {description.name}; try {' and '.join(advice)}")
    return UnknownNameError(f"'{full_name}' is no parameter of {description.name}, which has "
                            f"{', '.join(known) or 'none'}; rename says what other names mean")


def _nothing_there(description: Description, state_dict: Mapping[str, Any], prefix: str,
                   known: Sequence[str]) -> InvalidArgumentError:
    """The error where no name begins with the prefix, with the prefixes that there are."""
    if not state_dict:
        return InvalidArgumentError("the state_dict is empty: it has no names")
    endings = [(name, _find_ending(name, known)) for name in state_dict]
    prefixes = list(dict.fromkeys(name[:-len(ending.name)] for name, ending in endings if ending is not None))
    if prefixes:
        there = f"names that end as parameters of {description.name} have the prefix"
    else:
        prefixes, there = list(state_dict), "there is"
    listed = ", ".join(f"'{name}'" for name in prefixes[:_LISTED])
    more = f" and {len(prefixes) - _LISTED} more" if len(prefixes) > _LISTED else ""
    return InvalidArgumentError(f"there is no name that begins with '{prefix}'; {there} {listed}{more}")


def _check_is_mapping(state_dict: Any) -> None:
    if isinstance(state_dict, Mapping) or (hasattr(state_dict, "keys") and hasattr(state_dict, "__getitem__")):
        return
    advice = ""
    if hasattr(state_dict, "state_dict"):
        advice = ": pass module.state_dict()"
    elif isinstance(state_dict, (str, os.PathLike)):
        advice = ": load_safetensors() takes a path"
    raise TypeError(f"state_dict must be a mapping of names to arrays, not {type(state_dict).__name__}{advice}")


def _detached(array: Any) -> Any:
    # A parameter of PyTorch that is still being trained does not give its memory away; a copy is made of it here anyway.
    return array.detach() if getattr(array, "requires_grad", False) else array


def renamed_parameters(description: Description, state_dict: Mapping[str, Any], prefix: str,
                       rename: Rename) -> Dict[str, Any]:
    """Arrays by parameter name. Raises for all that is not understood; nothing is passed over."""
    _check_is_mapping(state_dict)
    if not isinstance(prefix, str):
        raise TypeError(f"prefix must be a text, not {type(prefix).__name__}")
    known = [parameter.name for parameter in description.parameters]
    rules = read_rules(rename)
    # PyTorch's names are no parameters of the library, so they can be understood without being asked for.
    rules += [rule for rule in preset_rules("pytorch") if rule not in rules and rule.new in known]
    written = [rule for rule in rules if not rule.is_preset]
    unused = set(written)
    for name in state_dict:
        if not isinstance(name, str):
            raise TypeError(f"the names in a state_dict must be texts, and {name!r} is none")
    names = [name for name in state_dict if name.startswith(prefix)]
    if not names:
        raise _nothing_there(description, state_dict, prefix, known)
    found: Dict[str, Any] = {}
    sources: Dict[str, str] = {}
    for full_name in names:
        name = full_name[len(prefix):]
        fitting = [rule for rule in written if rule.fits(name)]
        unused.difference_update(fitting)
        fitting = fitting or [rule for rule in rules if rule.is_preset and rule.fits(name)]
        choices: List[Optional[Rule]] = [*fitting] or [None]
        for rule in choices:
            parameter = name if rule is None else rule.apply(name)
            if parameter == "" and rule is not None:
                continue
            if parameter not in known:
                if rule is None or parameter == name:
                    raise _refuse(description, full_name, prefix, known)
                raise UnknownNameError(f"'{full_name}', renamed to '{parameter}', is no parameter of {description.name},"
                                       f" which has {', '.join(known) or 'none'}")
            if parameter in sources:
                raise InvalidArgumentError(f"both '{sources[parameter]}' and '{full_name}' would be the parameter "
                                           f"{parameter}")
            sources[parameter] = full_name
            array = _detached(state_dict[full_name])
            found[parameter] = array if rule is None else rule.take_rows(array, full_name)
    if unused:
        raise InvalidArgumentError(f"rename {sorted(rule.text for rule in unused)[0]}: there is no such name behind the "
                                   f"prefix '{prefix}'")
    return found
