# SPDX-License-Identifier: Apache-2.0
"""The Mandelbrot set as a picture: mandelbrot.py [FILE.png]. Rows are computed on one stream while others are copied on another."""

import asyncio
import struct
import sys
import zlib

import weir

SOURCE = r"""
extern "C" __global__ void mandelbrot(int width, int height, int first, unsigned char* rows) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= width) return;
  const float x0 = 3.5f * column / width - 2.5f, y0 = 2.0f * (first + row) / height - 1.0f;
  float x = 0, y = 0;
  int i = 0;
  for (; i < 255 && x * x + y * y < 4; ++i) {
    const float t = x * x - y * y + x0;
    y = 2 * x * y + y0;
    x = t;
  }
  rows[row * width + column] = i;
}
"""
WIDTH, HEIGHT, ROWS = 1024, 512, 64


@weir.kernel(SOURCE, use_fast_math=True)
def mandelbrot(width: weir.int32, height: weir.int32, first: weir.int32, rows: weir.ptr[weir.uint8]) -> None:
    """Computes how many steps, up to 255, each point of some rows takes to leave the circle of radius 2."""


async def strip(device: weir.Device, picture: weir.Buffer, first: int) -> None:
    with device.create_stream() as stream:  # becomes the current stream of this task
        rows = device.allocate((ROWS, WIDTH))
        weir.launch(stream, weir.LaunchConfig((WIDTH // 256, ROWS), 256), mandelbrot, WIDTH, HEIGHT, first, rows)
        rows.copy_to(picture[first : first + ROWS])
        await stream


def png(pixels: memoryview) -> bytes:
    """Encodes the steps of all points as a picture: black inside the set, from blue to white outside."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    shades = (i / 254 for i in range(255))
    palette = bytes(round(255 * shade**power) for shade in shades for power in (0.6, 0.35, 0.2)) + bytes(3)
    rows = b"".join(b"\0" + bytes(row) for row in (pixels[i : i + 1].cast("B") for i in range(len(pixels))))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


async def main() -> None:
    device = weir.Device()
    picture = device.allocate((HEIGHT, WIDTH), kind="pinned")
    await asyncio.gather(*(strip(device, picture, first) for first in range(0, HEIGHT, ROWS)))
    pixels = memoryview(picture)
    assert pixels[HEIGHT // 2, WIDTH * 2 // 3] == 255 and pixels[0, 0] < 5
    if len(sys.argv) > 1:
        with open(sys.argv[1], "wb") as file:
            file.write(png(pixels))
    print(f"{HEIGHT // ROWS} strips on {device} ({device.name})")


if __name__ == "__main__":
    asyncio.run(main())
