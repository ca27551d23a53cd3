# SPDX-License-Identifier: Apache-2.0
"""Reads the wire format of Protocol Buffers, and ONNX models in it, without any package.

https://protobuf.dev/programming-guides/encoding, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""
import struct

import numpy as np


def fields(data):
    """[(number, value)] of a message: an int, the four bytes of a float, or bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        wire = key & 7
        if wire == 0:
            value = varint()
        elif wire == 2:
            length = varint()
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field goes beyond its message")
        elif wire == 5:
            value, at = data[at:at + 4], at + 4
        else:
            raise ValueError(f"wire type {wire}")
        found.append((key >> 3, value))
    return found


class Message:
    def __init__(self, data):
        self.fields = fields(data)

    def all(self, number):
        return [value for key, value in self.fields if key == number]

    def one(self, number, default=None):
        values = self.all(number)
        if len(values) > 1:
            raise ValueError(f"field {number} is there {len(values)} times")
        return values[0] if values else default

    def text(self, number):
        return self.one(number, b"").decode()

    def messages(self, number):
        return [Message(value) for value in self.all(number)]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Node:
    def __init__(self, message):
        self.inputs = [name.decode() for name in message.all(1)]
        self.outputs = [name.decode() for name in message.all(2)]
        self.name, self.type = message.text(3), message.text(4)
        self.attributes = {}
        for attribute in message.messages(5):
            kind = attribute.one(20)
            if kind == 1:
                (value,) = struct.unpack("<f", attribute.one(2))
            elif kind == 2:
                value = signed(attribute.one(3))
            elif kind == 7:
                value = [signed(number) for number in attribute.all(8)]
            else:
                raise ValueError(f"an attribute of type {kind}")
            self.attributes[attribute.text(1)] = value


def tensor(message):
    dtype = {1: "<f4", 7: "<i8"}[message.one(2)]
    shape = [signed(extent) for extent in message.all(1)]
    return np.frombuffer(message.one(9), dtype).reshape(shape)


def value_info(message):
    """(name, shape), None for an axis of any length."""
    (kind,) = message.messages(2)
    (of,) = kind.messages(1)
    if of.one(1) != 1:
        raise ValueError("a value that is not of floats")
    (shape,) = of.messages(2)
    return message.text(1), [dimension.one(1) for dimension in shape.messages(1)]


class Model:
    def __init__(self, data):
        model = Message(data)
        self.ir_version, self.producer = model.one(1), model.text(2)
        self.opsets = {opset.text(1): opset.one(2) for opset in model.messages(8)}
        self.metadata = {entry.text(1): entry.text(2) for entry in model.messages(14)}
        graph = Message(model.one(7))
        self.nodes = [Node(node) for node in graph.messages(1)]
        self.weights = {entry.text(8): tensor(entry) for entry in graph.messages(5)}
        self.inputs = dict(map(value_info, graph.messages(11)))
        self.outputs = dict(map(value_info, graph.messages(12)))
