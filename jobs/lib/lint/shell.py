# SPDX-License-Identifier: Apache-2.0
"""Words and operators of a bash script, each with its line: quotes, comments, continuation lines, here-documents and
substitutions are where bash sees them. It never fails: what is never closed ends with the text and is kept in `open`."""

import collections
import re

# raw: as written. text: without quotes and backslashes. bare: outside of quotes and of substitutions only.
# inner: the texts of its command substitutions with their lines.
Word = collections.namedtuple("Word", "raw text bare inner line")
Operator = collections.namedtuple("Operator", "text line")

OPERATORS = ("&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", "<<", "<&", ">&", ">>", ">|", "<>",
             ";", "|", "&", "(", ")", "<", ">")
REDIRECTIONS = {"&>>", "<<<", "<<-", "&>", "<<", "<&", ">&", ">>", ">|", "<>", "<", ">"}
KEYWORDS = {"if", "then", "else", "elif", "while", "until", "do", "for", "!", "time", "{"}
ARRAY = re.compile(r"\w+(\[[^]]*\])?\+?=$")


class Lexer:
    def __init__(self, text, line=1):
        self.text, self.at, self.line = text, 0, line
        self.open = []  # (line, what) of quotes and here-documents that are never closed
        self.tokens = []
        self.document_lines = set()  # the lines of here-documents
        self._waiting = []  # here-documents whose text begins at the next line
        self._read()

    def _next(self, count=1):
        taken = self.text[self.at:self.at + count]
        self.line += taken.count("\n")
        self.at += len(taken)
        return taken

    def _starts(self, part):
        return self.text.startswith(part, self.at)

    def _at_command(self):
        """Does the next word begin a command?"""
        if not self.tokens:
            return True
        last = self.tokens[-1]
        if isinstance(last, Operator):
            return last.text not in REDIRECTIONS
        return last.raw in KEYWORDS

    def _read(self):
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == "\n":
                self.tokens.append(Operator("\n", self.line))
                self._next()
                self._skip_documents()
            elif character in " \t\r" or self._starts("\\\n"):
                self._next(2 if character == "\\" else 1)
            elif character == "#":
                end = self.text.find("\n", self.at)
                self._next((end if end >= 0 else len(self.text)) - self.at)
            elif self._starts("((") and self._at_command():
                self._whole(self._balanced)
            elif re.match(r"\[\[\s", self.text[self.at:self.at + 3]) and self._at_command():
                self._whole(self._condition)
            else:
                self._operator() or self._word()

    def _whole(self, read):
        """A command of its own kind, (( )) or [[ ]], as one word."""
        line, start = self.line, self.at
        read()
        raw = self.text[start:self.at]
        self.tokens.append(Word(raw, raw, "", [], line))

    def _condition(self):
        while self.at < len(self.text) and not re.match(r"\s\]\]", self.text[self.at:self.at + 3]):
            self._piece()
        self._next(3)

    def _operator(self):
        if self._starts("<(") or self._starts(">("):
            return False  # a substitution: part of a word
        for text in OPERATORS:
            if self._starts(text):
                self.tokens.append(Operator(text, self.line))
                self._next(len(text))
                return True
        return False

    def _word(self):
        line, start = self.line, self.at
        text, bare, inner = [], [], []
        while self.at < len(self.text):
            character = self.text[self.at]
            substitution = character in "<>" and self.text[self.at + 1:self.at + 2] == "(" and self.at == start
            if character in " \t\r\n;|&<>()" and not substitution:
                if character == "(" and ARRAY.match(self.text[start:self.at]):
                    text.append(self._balanced())
                break
            piece_text, piece_bare = self._piece(inner)
            text.append(piece_text)
            bare.append(piece_bare)
        word = Word(self.text[start:self.at], "".join(text), "".join(bare), inner, line)
        if self.tokens and isinstance(self.tokens[-1], Operator) and self.tokens[-1].text in ("<<", "<<-"):
            self._waiting.append((word.text, self.tokens[-1].text == "<<-", line))
        self.tokens.append(word)

    def _piece(self, inner=None):
        """The next quoted part, substitution or character: what it stands for, and what of it is not quoted."""
        character = self.text[self.at]
        if character == "\\":
            return self._next(2)[1:].replace("\n", ""), ""
        if character == "'" or self._starts("$'"):
            self._next(1 if character == "'" else 2)
            return self._quoted("'", character == "$", inner), ""
        if character == '"':
            self._next()
            return self._quoted('"', True, inner), ""
        if re.match(r"[$<>]\(", self.text[self.at:self.at + 2]):
            start, line = self.at, self.line
            self._next()
            body = self._balanced()
            if inner is not None and not body.startswith("(("):
                inner.append((body[1:-1], line))
            return self.text[start:self.at], ""
        if self._starts("${"):
            start = self.at
            self._next(2)
            while self.at < len(self.text) and not self._starts("}"):
                self._piece(inner)
            self._next()
            return self.text[start:self.at], ""
        if character == "`":
            line = self.line
            self._next()
            body = self._quoted("`", True, None)
            if inner is not None:
                inner.append((body, line))
            return "`" + body + "`", ""
        self._next()
        return character, character

    def _quoted(self, end, escapes, inner):
        line, parts = self.line, []
        while self.at < len(self.text):
            if self._starts(end):
                self._next()
                return "".join(parts)
            if escapes and self._starts("\\"):
                parts.append(self._next(2)[1:].replace("\n", ""))
            elif end == '"' and re.match(r"\$[({]|`", self.text[self.at:self.at + 2]):
                parts.append(self._piece(inner)[0])
            else:
                parts.append(self._next())
        self.open.append((line, end))
        return "".join(parts)

    def _balanced(self):
        """From one parenthesis to the one that closes it; its own quotes and comments do not count."""
        start, line = self.at, self.line
        self._next()
        while self.at < len(self.text) and not self._starts(")"):
            if self._starts("("):
                self._balanced()
            elif re.match(r"\s#", self.text[self.at:self.at + 2]):
                self._next()
                end = self.text.find("\n", self.at)
                self._next((end if end >= 0 else len(self.text)) - self.at)
            else:
                self._piece()
        if self.at >= len(self.text):
            self.open.append((line, "("))
        self._next()
        return self.text[start:self.at]

    def _skip_documents(self):
        for end, tabs, line in self._waiting:
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                length = (stop + 1 if stop >= 0 else len(self.text)) - self.at
                self.document_lines.add(self.line)
                row = self._next(length).rstrip("\r\n")
                if (row.lstrip("\t") if tabs else row) == end:
                    break
            else:
                self.open.append((line, "<<" + end))
        self._waiting = []
