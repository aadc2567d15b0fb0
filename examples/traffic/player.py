"""An adaptive video player without a picture: `python3 player.py HOST SEGMENTS`.

The player fetches segments of 2 s, each in the best quality that fits into 80 % of the rate of the
last segments. It keeps at most 20 s in its buffer, and stalls when the buffer is empty. For each
segment, it prints one line: seconds since the start, quality in kbit/s, seconds that fetching took,
seconds in the buffer, seconds stalled so far.
"""

import http.client
import sys
import time

SEGMENT_S = 2.0
MAX_BUFFERED_S = 20.0
QUALITIES_KBPS = (300, 750, 1500, 3000, 6000, 12000)
CAUTION = 0.8


def main(host: str, segments: int) -> None:
    server = http.client.HTTPConnection(host)
    began_s = time.monotonic()
    buffered_s = stalled_s = 0.0
    rates_kbps: list[float] = []
    for _ in range(segments):
        if buffered_s > MAX_BUFFERED_S - SEGMENT_S:
            pause_s = buffered_s - (MAX_BUFFERED_S - SEGMENT_S)
            time.sleep(pause_s)
            buffered_s -= pause_s
        # The harmonic mean of the last three rates averages over time, not over segments.
        last = rates_kbps[-3:]
        rate_kbps = len(last) / sum(1 / rate for rate in last) if last else 0.0
        fitting = [quality for quality in QUALITIES_KBPS if quality <= CAUTION * rate_kbps]
        quality = fitting[-1] if fitting else QUALITIES_KBPS[0]
        requested_s = time.monotonic()
        server.request("GET", f"/{quality}k")
        size = len(server.getresponse().read())
        took_s = time.monotonic() - requested_s
        rates_kbps.append(size * 8 / 1000 / took_s)
        if len(rates_kbps) > 1:  # playback starts after the first segment
            stalled_s += max(0.0, took_s - buffered_s)
            buffered_s = max(0.0, buffered_s - took_s)
        buffered_s += SEGMENT_S
        since_s = time.monotonic() - began_s
        print(f"{since_s:.3f} {quality} {took_s:.3f} {buffered_s:.3f} {stalled_s:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
