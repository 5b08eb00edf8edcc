"""Decodes PNG images and counts the pixels that differ."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {2: 3, 6: 4}


def _undo_filter(kind, line, before, width):
    """Returns a line of an image without its filter (RFC 2083, section 6)."""
    if kind == 0:
        return line
    line = bytearray(line)
    for at in range(len(line)):
        left = line[at - width] if at >= width else 0
        above = before[at]
        if kind == 1:
            line[at] = (line[at] + left) & 255
        elif kind == 2:
            line[at] = (line[at] + above) & 255
        elif kind == 3:
            line[at] = (line[at] + (left + above) // 2) & 255
        else:
            corner = before[at - width] if at >= width else 0
            guess = left + above - corner
            away = [(abs(guess - value), order, value) for order, value in enumerate((left, above, corner))]
            line[at] = (line[at] + min(away)[2]) & 255
    return bytes(line)


def decode(image):
    """Returns the width, the number of bytes per pixel, and the lines of an image with 8 bits per channel and no interlacing."""
    if not image.startswith(SIGNATURE):
        raise ValueError("no PNG image")
    at, data, width, height, channels = len(SIGNATURE), b"", 0, 0, 0
    while at < len(image):
        length, kind = struct.unpack("!I4s", image[at : at + 8])
        content = image[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlacing = struct.unpack("!IIBBBBB", content)
            if depth != 8 or color not in CHANNELS or interlacing:
                raise ValueError("unexpected kind of PNG image")
            channels = CHANNELS[color]
        elif kind == b"IDAT":
            data += content
    raw, stride = zlib.decompress(data), width * channels
    lines, before = [], bytes(stride)
    for row in range(height):
        start = row * (stride + 1)
        before = _undo_filter(raw[start], raw[start + 1 : start + 1 + stride], before, channels)
        lines.append(before)
    return width, channels, lines


def differing_pixels(one, other):
    """Returns the number of pixels that differ, and the first one as (x, y); (0, (0, 0)) for equal images.

    If the sizes differ, all pixels of the higher image count.
    """
    if one == other:
        return 0, (0, 0)
    (width, channels, left), (width_of_other, _, right) = decode(one), decode(other)
    if width != width_of_other or len(left) != len(right):
        return max(len(left), len(right)) * width, (0, 0)
    count, first = 0, (0, 0)
    for y, (a, b) in enumerate(zip(left, right)):
        if a != b:
            for x in range(width):
                if a[x * channels : x * channels + channels] != b[x * channels : x * channels + channels]:
                    count, first = count + 1, first if count else (x, y)
    return count, first
