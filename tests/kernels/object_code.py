# SPDX-License-Identifier: Apache-2.0
"""The loops of an object file, read from what objdump prints: x86-64 and 64-bit Arm."""
import collections
import os
import re
import subprocess

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:(?:bnd|notrack|lock|rep|data16) )*(\S+)\s*(.*)$")
# A call of a function of another section is a call of nothing until the linker has been.
RELOCATION = re.compile(r"^\s*[0-9a-f]+: R_\w*(?:PLT32|PC32|CALL26|JUMP26)\s+(.*?)(?:[-+]0x[0-9a-f]+)?$")

MULTIPLY_ADD = re.compile(r"^vfn?m(?:add|sub)\d+ps$|^vdpbf16ps$|^fml[as]$")
CALL = re.compile(r"^(?:callq?|blr?)$")
JUMP = re.compile(r"^(?:jmpq?|br?)$")
BRANCH = re.compile(r"^(?:j(?!mp)\w+|b\.\w+|cbn?z|tbn?z)$")
END = re.compile(r"^(?:retq?|ud2|hlt|brk|udf)$")
# AT&T: the destination stands last; a store's is a place in memory. A masked one has {%k1} behind it.
X86_STORE = re.compile(r"^vmov(?:[au]p[sd]|dq|ntp[sd])")
X86_MEMORY = re.compile(r"\)(?:\{%k\d\})?$")
X86_PLACE = re.compile(r"[-\w]*\([^)]*\)")
ARM_STORE = re.compile(r"^st(?:[urn]*[rp])$|^st1$")
ARM_VECTOR = re.compile(r"^(?:q\d|\{\s*v\d)")
ARM_PLACE = re.compile(r"\[[^]]*\]")

SHIFT = re.compile(r"^s[ha]l[lq]?$")
# GNU's objdump writes $0xf,%eax, LLVM's $15, %eax.
SHIFT_TO_BIT = re.compile(r"^\$(0x[8-9a-f]|[89]|1[0-5]), *%(?:r|e)")

Instruction = collections.namedtuple("Instruction", "address name operands target")
# read_back: the stores of what the step before had stored there.
Loop = collections.namedtuple("Loop", "function address multiply_adds stores read_back")


def functions(objdump, path):
    """(name, [Instruction]) of each function of an object file. A target is an address (jumps), the name
    of a function (calls) or None."""
    listing = subprocess.run(
        [objdump, "--disassemble", "--reloc", "--no-show-raw-insn", str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    name, body = None, []
    for line in listing.splitlines():
        if relocation := RELOCATION.match(line):
            if body and (CALL.match(body[-1].name) or JUMP.match(body[-1].name)):
                body[-1] = body[-1]._replace(target=relocation.group(1))
        elif start := FUNCTION.match(line):
            if name:
                yield name, body
            name, body = start.group(1), []
        elif found := INSTRUCTION.match(line):
            address, mnemonic, operands = found.groups()
            place = re.search(r"(?:^|[ ,])(?:0x)?([0-9a-f]+) <([^+>]*)(?:\+0x[0-9a-f]+)?>$", operands)
            target = None
            if place and CALL.match(mnemonic):
                target = place.group(2)
            elif place and (JUMP.match(mnemonic) or BRANCH.match(mnemonic)):
                target = int(place.group(1), 16)
            body.append(Instruction(int(address, 16), mnemonic, operands, target))
    if name:
        yield name, body


def is_multiply_add(instruction):
    return bool(MULTIPLY_ADD.match(instruction.name))


def is_store(instruction):
    """Whether it writes a vector to memory."""
    if X86_STORE.match(instruction.name):
        return bool(X86_MEMORY.search(instruction.operands.split("#")[0].strip()))
    return bool(ARM_STORE.match(instruction.name) and ARM_VECTOR.match(instruction.operands))


def count_read_back(steps):
    """How many of the stores go to a place that was read before: the value of each step waits for that of
    the step before to come from memory. A place is compared as it is written."""
    read, stored, count = set(), set(), 0
    for instruction in steps:
        place = X86_PLACE.search(instruction.operands) or ARM_PLACE.search(instruction.operands)
        if not place:
            continue
        if is_store(instruction):
            count += place.group() in read
            read.discard(place.group())
            stored.add(place.group())
        elif place.group() not in stored:
            read.add(place.group())
    return count


def blocks_of(body):
    """The function's graph: [(first, last)], places in `body`, and {block: [blocks that may follow]}."""
    place = {instruction.address: i for i, instruction in enumerate(body)}
    starts = {0}
    for i, instruction in enumerate(body):
        if JUMP.match(instruction.name) or BRANCH.match(instruction.name) or END.match(instruction.name):
            starts.add(i + 1)
            if instruction.target in place:
                starts.add(place[instruction.target])
    starts = sorted(start for start in starts if start < len(body))
    blocks = list(zip(starts, [*(start - 1 for start in starts[1:]), len(body) - 1]))
    number = {first: i for i, (first, _) in enumerate(blocks)}
    follow = {}
    for i, (_, last) in enumerate(blocks):
        end = body[last]
        follow[i] = [number[place[end.target]]] if end.target in place else []
        falls_through = not (JUMP.match(end.name) or END.match(end.name))
        if falls_through and i + 1 < len(blocks):
            follow[i].append(i + 1)
    return blocks, follow


def masks_bit_by_bit(objdump, path):
    """(function, address) of the places that put the mask of 16 lanes together from single conditions: about 50
    instructions in place of one."""
    for name, body in functions(objdump, path):
        for first, last in blocks_of(body)[0]:
            shifts = [SHIFT_TO_BIT.match(i.operands) for i in body[first : last + 1] if SHIFT.match(i.name)]
            if len({shift.group(1) for shift in shifts if shift}) >= 6:
                yield name, body[first].address


def cycles(nodes, follow):
    """The sets of blocks of which each reaches all (Tarjan's algorithm, without recursion)."""
    number, lowest, waiting, found = {}, {}, [], []

    def enter(node):
        number[node] = lowest[node] = len(number)
        waiting.append(node)
        work.append((node, iter(follow[node])))

    for root in sorted(nodes):
        work = []
        if root not in number:
            enter(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor in nodes and successor not in number:
                    enter(successor)
                    break
                if successor in waiting:
                    lowest[node] = min(lowest[node], number[successor])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    first = waiting.index(node)
                    part = set(waiting[first:])
                    del waiting[first:]
                    if any(successor in part for i in part for successor in follow[i]):
                        found.append(part)
    return found


def inner_loops(follow):
    """The sets of blocks that are loops without another one inside."""
    inner = []
    rest = [(part, follow) for part in cycles(set(follow), follow)]
    while rest:
        part, edges = rest.pop()
        heads = {s for i in edges if i not in part for s in edges[i] if s in part} or {min(part)}
        # Without the ways back to where the loop begins, what is left of it are the loops inside.
        edges = {i: [s for s in edges[i] if s not in heads or i not in part] for i in edges}
        inside = cycles(part, edges)
        if inside:
            rest += [(loop, edges) for loop in inside]
        else:
            inner.append(part)
    return inner


def loops_of_products(objdump, path):
    """The inner loops with multiply-adds, with those of the functions that they call: a tile that was not
    inlined is called by the loop over its steps."""
    bodies = dict(functions(objdump, path))
    graphs = {name: blocks_of(body) for name, body in bodies.items()}
    inner = {name: inner_loops(graph[1]) for name, graph in graphs.items()}

    def with_called(instructions, callers):
        """The instructions and those of called functions, None if one of these has a loop."""
        steps = []
        for instruction in instructions:
            steps.append(instruction)
            name = instruction.target
            if name in bodies and name not in callers:
                called = None if inner[name] else with_called(bodies[name], {*callers, name})
                if called is None:
                    return None
                steps += called
        return steps

    for name, body in bodies.items():
        blocks = graphs[name][0]
        for loop in inner[name]:
            own = [i for block in sorted(loop) for i in body[blocks[block][0] : blocks[block][1] + 1]]
            steps = with_called(own, {name}) or []
            multiply_adds = sum(map(is_multiply_add, steps))
            if multiply_adds:
                stores = sum(map(is_store, steps))
                yield Loop(name, own[0].address, multiply_adds, stores, count_read_back(steps))
