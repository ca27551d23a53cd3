# SPDX-License-Identifier: Apache-2.0
"""The commands of a bash script in the order in which they stand, each with the operators beside it and the constructs
around it."""

import re

from .shell import REDIRECTIONS, Lexer, Operator, Word

OPENING = {"if": "condition", "while": "condition", "until": "condition", "{": "group"}
NEXT = {"then": "branch", "else": "branch", "elif": "condition", "do": "loop"}
CLOSING = {"fi", "done", "}"}
# Commands that run another command, with what may stand between.
PREFIXES = {"exec", "command", "nohup", "nice", "env", "timeout", "stdbuf", "builtin", "time", "/usr/bin/time", "sudo",
            "ionice", "setsid"}
ASSIGNMENT = re.compile(r"\w+(\[[^]]*\])?\+?=")


class Frame:
    """A construct around commands, and the operator behind its end. kind: condition, branch, loop, group, subshell,
    function, case, trap (the text of a handler) or substitution."""

    def __init__(self, kind, line, before=""):
        self.kind, self.line, self.before, self.after = kind, line, before, "\n"
        self.condition = None  # of a branch: the construct that decides on it
        self.otherwise = False  # a branch behind else


class Command:
    def __init__(self, words, before, frames):
        self.words, self.before, self.frames = words, before, frames
        self.line = words[0].line
        self.after = "\n"
        self.redirected = []  # (operator, word)
        self.negated = self.called = False
        self.assigned = []
        rest = list(words)
        while rest and ASSIGNMENT.match(rest[0].raw):
            self.assigned.append(rest.pop(0))
        self.raw_arguments = rest
        self.set_arguments([word.text for word in rest])

    def set_arguments(self, arguments):
        """The program and its arguments, behind what only wraps them."""
        rest = list(arguments)
        while rest and rest[0] in PREFIXES and rest[1:2] not in (["-v"], ["-V"]):
            rest.pop(0)
            while rest and re.match(r"-|\w+=|\d+[smhd]?$", rest[0]):
                if rest.pop(0) in ("-s", "-k", "-n", "-u"):
                    del rest[:1]
        self.arguments = rest
        self.program = rest[0] if rest else ""
        self.name = self.program.rsplit("/", 1)[-1]

    @property
    def text(self):
        return " ".join(word.raw for word in self.words)

    def within(self, *kinds):
        return any(frame.kind in kinds for frame in self.frames)

    def piped_into(self):
        return self.after in ("|", "|&") or any(frame.after in ("|", "|&") for frame in self.frames
                                                if frame.kind in ("group", "subshell", "loop", "branch"))

    def in_background(self):
        return self.after == "&" or any(frame.after == "&" for frame in self.frames
                                        if frame.kind in ("group", "subshell", "loop", "branch"))


class Reader:
    """Walks over the tokens; nested texts (substitutions, handlers of traps) come before the command they are in."""

    def __init__(self, text, line=1, frames=()):
        lexer = Lexer(text, line)
        self.open = list(lexer.open)
        self.document_lines = lexer.document_lines
        self.commands = []
        self._frames = list(frames)
        self._words, self._redirected = [], []
        self._before, self._negated = "", False
        self._closed = None  # what the next operator stands behind
        self._function = False
        self._skip_until = None  # for the heads of for and the patterns of case
        for token in lexer.tokens:
            self._take(token)
        self._end("\n")

    def _take(self, token):
        if self._skip_until:
            self._skip(token)
        elif isinstance(token, Operator):
            self._operator(token)
        elif self._redirected and self._redirected[-1][1] is None:
            self._redirected[-1] = (self._redirected[-1][0], token)
        elif self._words or not self._keyword(token):
            self._words.append(token)

    def _skip(self, token):
        text = token.text if isinstance(token, Operator) else token.raw
        if text == "esac" and self._skip_until == ")":
            self._skip_until = None
            self._close()
        elif text == self._skip_until or (text in (";", "do") and self._skip_until == "\n"):
            self._skip_until = ")" if text == "in" else None
            if text == "do":
                self._open("loop", token.line)

    def _operator(self, token):
        text = token.text
        if text in REDIRECTIONS:
            # "2" in front of ">" is no word: of a command, or behind a construct ("} 2>file").
            if self._words and re.match(r"\d+$", self._words[-1].raw) and (len(self._words) > 1 or self._closed):
                self._words.pop()
            self._redirected.append((text, None))
        elif text == "(" and len(self._words) == 1 and not self._closed:
            self._function = True  # name()
            self._words = []
        elif text == "(":
            self._end("")
            self._open("subshell", token.line)
        elif text == ")" and self._function:
            pass
        elif text == ")":
            self._end("\n")
            self._close()
        elif text in (";;", ";&", ";;&"):
            self._end("\n")
            self._skip_until = ")"
        else:
            self._end(text)

    def _keyword(self, token):
        raw = token.raw
        if raw == "!":
            self._negated = True
        elif raw in OPENING:
            self._open("function" if self._function else OPENING[raw], token.line)
        elif raw in NEXT:
            last = None
            if raw != "do" or (self._frames and self._frames[-1].kind == "condition"):
                last = self._frames[-1] if self._frames else None
                self._close()
            self._open(NEXT[raw], token.line)
            if last and raw in ("then", "else"):
                self._frames[-1].condition = last if raw == "then" else last.condition
                self._frames[-1].otherwise = raw == "else"
        elif raw in CLOSING:
            self._close()
        elif raw in ("for", "select"):
            self._skip_until = "\n"
        elif raw == "case":
            self._open("case", token.line)
            self._skip_until = "in"
        elif raw == "esac":
            self._close()
        elif raw == "function":
            self._function = True
            return True
        elif self._function and re.match(r"[\w:.-]+$", raw):
            pass  # function NAME
        elif raw != "time" and raw != "coproc":
            return False
        return True

    def _open(self, kind, line):
        self._function = False
        self._closed = None
        self._frames.append(Frame(kind, line, self._before))
        self._before = ""

    def _close(self):
        if self._frames:
            self._closed = self._frames.pop()

    def _end(self, operator):
        """The end of a command, or of what stands behind a construct."""
        if self._words:
            command = Command(self._words, self._before, tuple(self._frames))
            command.after = operator
            command.negated = self._negated
            command.redirected = [pair for pair in self._redirected if pair[1]]
            self._nested(command)
            self.commands.append(command)
        elif self._closed:
            self._closed.after = operator
        if self._words or self._closed or operator not in ("\n", ""):
            self._before = operator if operator in ("&&", "||", "|", "|&") else ""
        if self._words or operator != "\n":
            self._negated = False
        self._words, self._redirected, self._closed = [], [], None

    def _nested(self, command):
        words = command.words + [word for _, word in command.redirected]
        for word in words:
            for text, line in word.inner:
                self._read_inside(text, line, "substitution")
        if command.name == "trap" and len(command.arguments) > 1 and command.arguments[1] not in ("", "-"):
            self._read_inside(command.arguments[1], command.line, "trap")

    def _read_inside(self, text, line, kind):
        inside = Reader(text, line, self._frames + [Frame(kind, line)])
        self.commands += inside.commands


def words_of(text, line=1):
    """The words of a list such as that between the parentheses of an array."""
    return [token for token in Lexer(text, line).tokens if isinstance(token, Word)]
