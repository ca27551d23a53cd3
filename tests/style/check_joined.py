#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of src/<room> can be compiled joined (QUERN_UNITY_BUILD): no two of them define the same
constant, type or function in an unnamed namespace, none has a local constant with the name of one
in another one's unnamed namespace or in a header of the room (-Wshadow), and none has a function in
its unnamed namespace that hides a header's function which another one calls from its own.

Which files are joined depends on how many there are, so without this a new file breaks a build
whose own files nobody touched. It does not see operators and macros.
"""
import re

import tree

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
NAMED = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
# A declaration starts in the first column and goes on to what ends its head.
DECLARATION = re.compile(r"^(?=[A-Za-z_\[])((?:[^;{=(]|\((?:[^()]|\([^()]*\))*\))*)", re.MULTILINE)
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>\s*(?:requires[^\n]*\n)?")
FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\((.*)\)[^()]*$", re.DOTALL)
TYPE = re.compile(r"(?:struct|class|enum|union|using|concept)\b.*?([A-Za-z_]\w*)\s*"
                  r"(?:final\b.*|:.*)?$", re.DOTALL)
MAY_STAND_TWICE = re.compile(r"namespace\b|static_assert\b|using (?:namespace\b|[\w:]+::)")
GLOBAL = re.compile(r"^inline constexpr [\w:<>]+ (k[A-Z]\w*)\b", re.MULTILINE)
LOCAL = re.compile(r"^ +constexpr [\w:<>]+ (k[A-Z]\w*)\b", re.MULTILINE)
# A function of a header in the first column, and a call that names no namespace and no object.
HEADER_FUNCTION = re.compile(r"^(?!#|using|return)[A-Za-z_][\w:<>,&* ]*?[ &*]([a-z]\w*)\(", re.MULTILINE)
CALL = re.compile(r"(?<![\w.:>~])([a-z]\w*)\(")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
VARIABLE = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])*\s*$")


def parameters(text):
    """The types of a function's parameters, without names and default values."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return ", ".join(re.sub(r"(?<=[\s&*>])\w+$", "", part.split("=")[0].strip()).strip()
                     for part in parts)


def namespace_around(text, block):
    return tuple(NAMED.findall(text, 0, block.start())[-1:])


def definitions(text):
    """The namespace around it, and the name, or of a function the signature, of each thing in a
    file's unnamed namespaces."""
    for block in UNNAMED.finditer(text):
        around = namespace_around(text, block)
        body = TEMPLATE.sub("", COMMENT.sub("", block[1]))
        for found in DECLARATION.finditer(body):
            head = found[1].strip()
            function = FUNCTION.search(head)
            kind = TYPE.match(head)
            if MAY_STAND_TWICE.match(head):
                continue
            if kind:
                yield around, kind[1]
            elif function:
                yield around, f"{function[1]}({parameters(function[2])})"
            elif variable := VARIABLE.search(head):
                yield around, variable[1]


def hidden_calls(root, paths):
    """What a function in one file's unnamed namespace hides from another one's of the same room."""
    functions = {}  # of each header
    own, calls = {}, {}  # {(file, namespace around): names defined, or called, in its unnamed one}
    for path in paths:
        text = tree.text(root, path)
        if path.suffix == ".hpp":
            functions[path.as_posix()] = set(HEADER_FUNCTION.findall(COMMENT.sub("", text)))
            continue
        included = {name for header in INCLUDE.findall(text) for name in functions.get(f"src/{header}", ())}
        for around, name in definitions(text):
            if "(" in name:
                own.setdefault((path, around), set()).add(name.split("(")[0])
        for block in UNNAMED.finditer(text):
            called = included & set(CALL.findall(COMMENT.sub("", block[1])))
            calls.setdefault((path, namespace_around(text, block)), set()).update(called)
    for (path, around), names in own.items():
        for (other, other_around), called in calls.items():
            if path != other and path.parts[1] == other.parts[1] and around == other_around:
                for name in sorted(names & called - own.get((other, around), set())):
                    yield (f"{path}: {name} hides the header's function that {other} calls, where they are "
                           "compiled joined (expected a name of its own: rename it)")


def check(root):
    offences, seen, local = [], {}, []
    constants = {}  # {(room, name): [files that have it for all that is joined with them]}
    paths = sorted(tree.cpp_files(root, "src"), key=lambda path: path.suffix == ".cpp")
    for path in paths:
        text = COMMENT.sub("", tree.text(root, path))
        if path.suffix == ".hpp":
            for name in GLOBAL.findall(text):
                constants.setdefault((path.parts[1], name), []).append(path)
            continue
        local += [(path, name) for name in LOCAL.findall(text)]
        for around, name in dict.fromkeys(definitions(tree.text(root, path))):
            constants.setdefault((path.parts[1], name), []).append(path)
            first = seen.setdefault((path.parts[1], around, name), path)
            if first != path:
                offences.append(f"{path}: {name} is also in the unnamed namespace of {first}, and files of a room are "
                                "compiled joined (expected a name of its own: rename it)")
    for path, name in dict.fromkeys(local):
        for other in constants.get((path.parts[1], name), []):
            if other != path:
                offences.append(f"{path}: the local {name} has the name of one in {other}, and files of a room are "
                                "compiled joined (expected a name of its own: rename it)")
                break
    return offences + list(hidden_calls(root, paths))


if __name__ == "__main__":
    tree.run(check, __doc__)
