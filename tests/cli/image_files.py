"""Writes image files byte by byte, with the standard library alone: an oracle that shares no code with the tool.

Pixels are flat lists of numbers: row by row, then column by column, then channel by channel.
"""

import base64
import random
import struct
import zlib

# struct's letter, bits, TIFF sample format (1 unsigned, 2 signed, 3 float), NumPy's name
TYPES = {
    "8u": ("B", 8, 1, "u1"), "8s": ("b", 8, 2, "i1"), "16u": ("H", 16, 1, "u2"), "16s": ("h", 16, 2, "i2"),
    "32u": ("I", 32, 1, "u4"), "32s": ("i", 32, 2, "i4"), "64u": ("Q", 64, 1, "u8"), "64s": ("q", 64, 2, "i8"),
    "16f": ("e", 16, 3, "f2"), "32f": ("f", 32, 3, "f4"), "64f": ("d", 64, 3, "f8"),
}


def pixels(kind, count, seed=1):
    """Random values over the whole range of a type; small multiples of 1/8 for floats, so that sums are exact."""
    rng = random.Random(seed)
    letter, bits, form, _ = TYPES[kind]
    if form == 3:
        return [rng.randint(-800, 800) / 8 for _ in range(count)]
    low = -(1 << (bits - 1)) if form == 2 else 0
    return [rng.randint(low, low + (1 << bits) - 1) for _ in range(count)]


def packed(kind, values, order="<"):
    return struct.pack(order + str(len(values)) + TYPES[kind][0], *values)


# --- PNG ---------------------------------------------------------------------------------------------------------

def png_chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(rows, cols, channels, depth, values, palette=None, transparency=None, header=None):
    """`depth` bits a sample; with a palette (RGB triples) the values are indices. `header` overrides (cols, rows)."""
    color = 3 if palette else {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    per_row = cols * channels
    raw = bytearray()
    for r in range(rows):
        line = values[r * per_row:(r + 1) * per_row]
        raw.append(0)
        if depth == 16:
            raw += struct.pack(f">{per_row}H", *line)
        elif depth == 8:
            raw += bytes(line)
        else:
            bits = "".join(format(v, f"0{depth}b") for v in line)
            bits += "0" * (-len(bits) % 8)
            raw += int(bits, 2).to_bytes(len(bits) // 8, "big")
    width, height = header or (cols, rows)
    out = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    if palette:
        out += png_chunk(b"PLTE", bytes(v for entry in palette for v in entry))
    if transparency is not None:
        out += png_chunk(b"tRNS", transparency)
    return out + png_chunk(b"IDAT", zlib.compress(bytes(raw))) + png_chunk(b"IEND", b"")


# --- PGM, PPM, PFM -----------------------------------------------------------------------------------------------

def pnm(rows, cols, channels, values, maxval=255, ascii=False):
    kind = {(1, True): 2, (3, True): 3, (1, False): 5, (3, False): 6}[channels, ascii]
    head = f"P{kind}\n# a comment\n{cols} {rows}\n{maxval}\n".encode()
    if ascii:
        return head + "\n".join(" ".join(str(v) for v in values[i:i + 10]) for i in range(0, len(values), 10)).encode()
    return head + (packed("16u", values, ">") if maxval > 255 else bytes(values))


def pfm(rows, cols, channels, values, order="<"):
    head = f"{'Pf' if channels == 1 else 'PF'}\n{cols} {rows}\n{'-1.0' if order == '<' else '1.0'}\n".encode()
    per_row = cols * channels
    return head + b"".join(packed("32f", values[r * per_row:(r + 1) * per_row], order) for r in reversed(range(rows)))


# --- BMP, OpenEXR, FITS: what the tool only reads --------------------------------------------------------------

def bmp(rows, cols, bits, values, palette=None, core=False, top_down=False, compression=0, masks=b""):
    """`values`: indices of the palette (triples of RGB), or triples of RGB, or quadruples with opacity of 32 bits."""
    lines = []
    for r in range(rows):
        if bits <= 8:
            text = "".join(format(v, f"0{bits}b") for v in values[r * cols:(r + 1) * cols])
            text += "0" * (-len(text) % 8)
            line = int(text, 2).to_bytes(len(text) // 8, "big")
        else:
            n = bits // 8
            line = b"".join(bytes([*values[i:i + 3][::-1], *values[i + 3:i + n]])
                            for i in range(r * cols * n, (r + 1) * cols * n, n))
        lines.append(line + bytes(-len(line) % 4))
    body = b"".join(lines if top_down else lines[::-1])
    colours = b"".join(bytes(entry[::-1]) + (b"" if core else b"\0") for entry in palette or ())
    if core:
        info = struct.pack("<IHHHH", 12, cols, rows, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", 40, cols, -rows if top_down else rows, 1, bits, compression, len(body), 2835, 2835,
                           len(palette or ()), 0) + masks
    start = 14 + len(info) + len(colours)
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + info + colours + body


def exr(rows, cols, channels, origin=(0, 0), compress=False):
    """`channels`: {name: (kind, values)} of 16f, 32f and 32u, in a data window that starts at `origin` (x, y). With
    `compress`, rows are packed by zlib (ZIPS)."""
    def attribute(name, kind, data):
        return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<I", len(data)) + data

    kinds = {"32u": 0, "16f": 1, "32f": 2}
    names = sorted(channels)
    listed = b"".join(n.encode() + b"\0" + struct.pack("<iB3xii", kinds[channels[n][0]], 0, 1, 1) for n in names) + b"\0"
    window = struct.pack("<4i", origin[0], origin[1], origin[0] + cols - 1, origin[1] + rows - 1)
    head = (struct.pack("<II", 20000630, 2) + attribute("channels", "chlist", listed) +
            attribute("compression", "compression", bytes([2 if compress else 0])) + attribute("dataWindow", "box2i", window) +
            attribute("displayWindow", "box2i", window) + attribute("lineOrder", "lineOrder", b"\0") +
            attribute("pixelAspectRatio", "float", struct.pack("<f", 1)) +
            attribute("screenWindowCenter", "v2f", struct.pack("<2f", 0, 0)) +
            attribute("screenWindowWidth", "float", struct.pack("<f", 1)) + b"\0")
    chunks, offsets, at = [], [], len(head) + 8 * rows
    for r in range(rows):
        line = b"".join(packed(channels[n][0], channels[n][1][r * cols:(r + 1) * cols]) for n in names)
        if compress:  # even bytes, odd bytes, differences
            split = line[::2] + line[1::2]
            small = zlib.compress(bytes([split[0]]) + bytes((b - a + 128) & 255 for a, b in zip(split, split[1:])))
            line = small if len(small) < len(line) else line
        offsets.append(at)
        chunks.append(struct.pack("<iI", origin[1] + r, len(line)) + line)
        at += len(chunks[-1])
    return head + struct.pack(f"<{rows}Q", *offsets) + b"".join(chunks)


def fits(images):
    """`images`: (extents from columns on, BITPIX, stored values, further cards) each."""
    kinds = {8: "8u", 16: "16s", 32: "32s", 64: "64s", -32: "32f", -64: "64f"}
    out = b""
    for extents, bits, values, more in images:
        cards = ["XTENSION= 'IMAGE   '" if out else "SIMPLE  =                    T", f"BITPIX  = {bits:20}",
                 f"NAXIS   = {len(extents):20}", *(f"NAXIS{i + 1}  = {n:20}" for i, n in enumerate(extents)),
                 *(["PCOUNT  =                    0", "GCOUNT  =                    1"] if out else []),
                 *(f"{key:8}= {value:20}" for key, value in more.items()), "END"]
        head = "".join(card.ljust(80) for card in cards).encode()
        body = packed(kinds[bits], values, ">") if values else b""
        out += head + b" " * (-len(head) % 2880) + body + bytes(-len(body) % 2880)
    return out


# --- NPY ---------------------------------------------------------------------------------------------------------

def npy(shape, kind, values, order="<", version=1, fortran=False, descr=None, data=None):
    name = TYPES[kind][3] if kind in TYPES else kind
    prefix = "|" if name[1] == "1" else order
    shape_text = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    text = f"{{'descr': '{descr or prefix + name}', 'fortran_order': {fortran}, 'shape': {shape_text}, }}"
    size = 2 if version == 1 else 4
    text += " " * (-(8 + size + len(text) + 1) % 64) + "\n"
    head = b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(size, "little") + text.encode()
    return head + (packed(kind, values, order) if data is None else data)


def read_npy(data):
    """(shape, flat list) of a file that the tool wrote; checks that the array starts on a multiple of 64 bytes."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = int.from_bytes(data[8:10], "little")
    assert (10 + length) % 64 == 0 and data[9 + length] == 0x0A
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}})  # a dictionary literal of our own tool
    assert not header["fortran_order"]
    letter = next(t[0] for t in TYPES.values() if t[3] == header["descr"][1:])
    body = data[10 + length:]
    return header["shape"], header["descr"], list(struct.unpack(f"<{len(body) // struct.calcsize(letter)}{letter}", body))


# --- TIFF --------------------------------------------------------------------------------------------------------

def _packbits(data):
    """Literal runs only: legal, if not small."""
    return b"".join(bytes([len(data[i:i + 128]) - 1]) + data[i:i + 128] for i in range(0, len(data), 128))


TIFF_LETTERS = {2: "B", 3: "H", 4: "I", 7: "B", 11: "f", 12: "d", 16: "Q"}


def tiff_tags(data):
    """{number: values} of the first page of a little-endian classic TIFF; texts are bytes, rationals floats."""
    assert data[:4] == b"II*\0", data[:4]
    at = struct.unpack("<I", data[4:8])[0]
    tags = {}
    for i in range(struct.unpack("<H", data[at:at + 2])[0]):
        entry = data[at + 2 + 12 * i:at + 14 + 12 * i]
        number, type_, count = struct.unpack("<HHI", entry[:8])
        size = 8 * count if type_ == 5 else count * struct.calcsize(TIFF_LETTERS[type_])
        body = entry[8:8 + size] if size <= 4 else data[(start := struct.unpack("<I", entry[8:])[0]):start + size]
        if type_ in (2, 7):
            tags[number] = body
        elif type_ == 5:
            parts = struct.unpack(f"<{2 * count}I", body)
            tags[number] = [parts[2 * k] / parts[2 * k + 1] for k in range(count)]
        else:
            tags[number] = list(struct.unpack(f"<{count}{TIFF_LETTERS[type_]}", body))
    return tags


COMPRESSIONS = {"none": (1, bytes), "deflate": (8, zlib.compress), "packbits": (32773, _packbits)}
LOSSY = {"jpeg-grey": (7, lambda _: JPEG["grey"]), "jpeg-rgb": (7, lambda _: JPEG["rgb"])}  # 16 x 16, whatever is given


def tiff(rows, cols, channels, kind, values, order="<", big=False, tile=None, rows_per_strip=None, separate=False,
         compression="none", photometric=None, palette=None, tags=(), pages=1):
    """`tile` is (rows, cols); `palette` 3 x 256 16-bit values; `tags` overrides (number, type, values)."""
    _, bits, form, _ = TYPES[kind]
    code, compress = (COMPRESSIONS | LOSSY)[compression]
    together = 1 if separate else channels
    blocks = []
    block_rows, block_cols = tile or (rows_per_strip or rows, cols)
    for first in range(channels if separate else 1):
        for top in range(0, rows, block_rows):
            for left in range(0, cols, block_cols):
                block = []
                for r in range(top, top + block_rows if tile else min(top + block_rows, rows)):
                    for c in range(left, left + block_cols):
                        for k in range(together):
                            inside = r < rows and c < cols
                            block.append(values[(r * cols + c) * channels + first + k] if inside else 0)
                blocks.append(compress(packed(kind, block, order)))

    photometric = photometric if photometric is not None else 3 if palette else 2 if channels >= 3 else 1
    counts = [len(b) for b in blocks]
    entries = {256: (4, [cols]), 257: (4, [rows]), 258: (3, [bits] * channels), 259: (3, [code]),
               262: (3, [photometric]), 277: (3, [channels]), 284: (3, [2 if separate else 1]),
               339: (3, [form] * channels)}
    if channels in (2, 4):
        entries[338] = (3, [2])
    if palette:
        entries[320] = (3, palette)
    if tile:
        entries.update({322: (4, [block_cols]), 323: (4, [block_rows]), 324: (4, None), 325: (4, counts)})
    else:
        entries.update({273: (4, None), 278: (4, [block_rows]), 279: (4, counts)})
    for number, type_, vals in tags:
        entries[number] = (type_, vals)

    head_size, count_letter, entry_letter, room = (16, "Q", "Q", 8) if big else (8, "H", "I", 4)
    body = bytearray(head_size)
    mark = b"II" if order == "<" else b"MM"
    offsets = []
    for block in blocks:
        offsets.append(len(body))
        body += block + b"\0" * (len(block) % 2)
    if tile:
        entries[324] = entries[324] if entries[324][1] is not None else (4, offsets)
    else:
        entries[273] = entries[273] if entries[273][1] is not None else (4, offsets)

    letters = TIFF_LETTERS
    directories = []
    for _ in range(pages):
        encoded = []
        for number in sorted(entries):
            type_, vals = entries[number]
            data = struct.pack(f"{order}{len(vals)}{letters[type_]}", *vals)
            if len(data) > room:
                at = len(body)
                body += data + b"\0" * (len(data) % 2)
                data = struct.pack(order + entry_letter, at)
            encoded.append(struct.pack(order + "HH" + entry_letter, number, type_, len(vals)) + data.ljust(room, b"\0"))
        directories.append(len(body))
        body += struct.pack(order + count_letter, len(encoded)) + b"".join(encoded) + struct.pack(order + entry_letter, 0)
    for here, there in zip(directories, directories[1:]):
        at = here + struct.calcsize(order + count_letter) + len(entries) * (20 if big else 12)
        body[at:at + room] = struct.pack(order + entry_letter, there)
    body[:head_size] = (mark + struct.pack(order + "HHHQ", 43, 8, 0, directories[0]) if big else
                        mark + struct.pack(order + "HI", 42, directories[0]))
    return bytes(body)


# --- JPEG --------------------------------------------------------------------------------------------------------

# 16 x 16 pixels each, encoded elsewhere.
JPEG = {name: base64.b64decode(text) for name, text in {
    "grey": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKB"
            "TmCNl4x9lnN+gXz/wAALCAAQABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAABQL/xAAXEAEAAwAAAAAAAAAAAAAAAAAEACEx/9oACAEBAAA/"
            "AATFyosYuVLMXKi5i5U//9k=",
    "rgb": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKB"
           "TmCNl4x9lnN+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHz/"
           "wAARCAAQABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAwH/xAAVEAEBAAAAAAAAAAAAAAAAAAACAP/EABUBAQEAAAAAAAAAAAAA"
           "AAAAAAIE/8QAFhEAAwAAAAAAAAAAAAAAAAAAAAME/9oADAMBAAIRAxEAPwBEokqJRJUClAlkP//Z",
    "progressive": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhl"
                   "bXd7gYKBTmCNl4x9lnN+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8"
                   "fHx8fHx8fHx8fHz/wgARCAAQABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAgD/xAAVAQEBAAAAAAAAAAAAAAAAAAACBP/a"
                   "AAwDAQACEAMQAAABQhOf/8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQABBQIf/8QAFREBAQAAAAAAAAAAAAAAAAAAAwD/2gAIAQMB"
                   "AT8BIr//xAAVEQEBAAAAAAAAAAAAAAAAAAACAP/aAAgBAgEBPwEm/8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQAGPwIf/8QAFRAB"
                   "AQAAAAAAAAAAAAAAAAAAAQD/2gAIAQEAAT8hWWWW/9oADAMBAAIAAwAAABBf/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAwEBPxA/"
                   "/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPxB//8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQABPxAAH//Z",
    "cmyk": "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAbEhQXFBEbFxYXHhwbIChCKyglJShROj0wQmBVZWRfVV1baniZgWpxkHNbXYW1hpCeo6utq2eA"
            "vMm6pseZqKuk/8AAFAgAEAAQBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAUCBP/EABYQAQEBAAAAAAAAAAAAAAAAAAMAYf/a"
            "AA4EQwBNAFkASwAAPwBZ32JAMnkSWd9jnfZAAyzokc77S77WAZSiUu+x7vsgAZZ0SPd9v//Z",
}.items()}
