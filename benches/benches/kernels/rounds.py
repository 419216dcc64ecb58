"""Decodes all articles of a file once for each line on stdin, and says how long that took.

sabctools has no bare decoder any more: it decodes answers of a news server, status line first, from
a buffer of its own. Filling that buffer is what a socket would do and is not counted, as it is not on
our side. Decoding the header lines and the CRC is counted on both.
"""

import sys
import time

import sabctools


def read_articles(path):
    articles = []
    with open(path, "rb") as file:
        while length := int.from_bytes(file.read(8), "little"):
            articles.append(b"222 0 <a@b>\r\n" + file.read(length))
    return articles


def one_round(articles, decoder):
    seconds = 0.0
    for article in articles:
        with memoryview(decoder) as room:
            room[: len(article)] = article
        start = time.perf_counter()
        decoder.process(len(article))
        seconds += time.perf_counter() - start
        response = next(decoder)
        assert response.crc is not None and response.crc == response.crc_expected
        assert len(response.data) == response.part_size
    return seconds


def main():
    articles = read_articles(sys.argv[1])
    decoder = sabctools.Decoder(max(map(len, articles)))
    print(f"sabctools {sabctools.__version__} ({sabctools.simd})", flush=True)
    for _ in sys.stdin:
        print(one_round(articles, decoder), flush=True)


main()
