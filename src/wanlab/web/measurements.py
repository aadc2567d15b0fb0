"""Looking at the running network: curves for those who watch, records, captures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wanlab import Capture, Network, Record, Sampling
from wanlab.errors import WanlabError

from . import commands, protocol
from .broadcast import Broadcast, Browser
from .folder import WorkingFolder
from .records import Recorder, Records
from .session import NetworkSession


class Measurements:
    """What browsers ask is asked here; what is done with the network is done in its thread."""

    def __init__(
        self,
        folder: WorkingFolder,
        broadcast: Broadcast,
        running: NetworkSession,
        drawing: Callable[[], str],
    ) -> None:
        self._drawing = drawing
        self._folder = folder
        self._broadcast = broadcast
        self._running = running
        self.records = Records(folder, broadcast.tell)
        self._curves: Any = None
        self._captures: dict[str, tuple[Sampling, Path]] = {}
        running.on_running.append(self._begin)
        running.every.append(self._collect)
        running.on_ending.append(self._has_ended)

    # -- in the network's thread ------------------------------------------------------------------

    def _begin(self, network: Network) -> None:
        self._curves = None

    def _collect(self, network: Network) -> None:
        if self._curves is not None:
            self._curves.collect(network)

    # -- curves -----------------------------------------------------------------------------------

    async def watch(self, browser: Browser, command: commands.WatchCommand) -> None:
        browser.series = command.series
        browser.interval_ms = command.interval_ms
        await self.watch_for_all()

    async def watch_for_all(self) -> None:
        """All that somebody wants to see."""
        if not self._running.is_running:
            return
        browsers = [one for one in self._broadcast.browsers if one.series]
        series = [it for browser in browsers for it in browser.series]
        interval_ms = min((browser.interval_ms for browser in browsers), default=100)

        def order(network: Network) -> None:
            if self._curves is None and not series:
                return
            if self._curves is None:
                from .curves import Curves  # numpy, and tables: not before somebody looks

                self._curves = Curves(self._tell_samples)
            self._curves.watch(network, series, interval_ms)

        await self._running.do(order)

    def _tell_samples(self, push: protocol.SamplesPush) -> None:
        with contextlib.suppress(RuntimeError):
            self._running.loop.call_soon_threadsafe(self._broadcast.tell, push)

    # -- records ----------------------------------------------------------------------------------

    async def record(self, command: commands.RecordCommand, by: str = "") -> str:
        if command.on:
            self._running.network_worker()
            name = self.records.begin(command.name)
            drawing = self._drawing()
            recorder = await self._running.do(lambda network: Recorder(network, drawing))
            self.records.has_begun(name, recorder)
            return name
        recorder = self.records.recorder

        def order(network: Network) -> Record:
            return recorder.end(network)

        try:
            return self.records.keep(await self._running.do(order))
        finally:
            self.records.has_ended()

    def compare(self, command: commands.CompareCommand, by: str = "") -> protocol.Comparison:
        return self.records.compare(command.records)

    def drop_record(self, command: commands.DeleteRecordCommand, by: str = "") -> None:
        self.records.drop(command.name)

    # -- captures ---------------------------------------------------------------------------------

    def told_captures(self) -> protocol.CapturesPush:
        return protocol.CapturesPush(ports=tuple(self._captures))

    async def capture(self, command: commands.CaptureCommand, by: str = "") -> protocol.CaptureFile:
        port = command.port
        if command.on == (port in self._captures):
            raise WanlabError(f"{port} is {'' if command.on else 'not '}being captured")
        if not command.on:
            sampling, place = self._captures.pop(port)
            await self._running.do(lambda network: sampling.end())
        else:
            sampling, place = await self._running.do(self._begin_capture(port))
            self._captures[port] = (sampling, place)
        self._broadcast.tell(self.told_captures())
        path = self._folder.path_of(place)
        self._broadcast.tell(protocol.FilesPush(paths=(path,)))
        return protocol.CaptureFile(path)

    def _begin_capture(self, port: str) -> Any:
        def order(network: Network) -> tuple[Sampling, Path]:
            network.port(port)
            names = (f"{port}{f'-{n}' if n else ''}.pcapng" for n in range(10_000))
            place = next(it for name in names if not (it := network.folder / name).exists())
            sampling = Sampling(network, [Capture(port, file=place)])
            sampling.begin()
            return sampling, place

        return order

    def _has_ended(self) -> None:
        self._curves = None
        self._captures.clear()
        self._broadcast.tell(self.told_captures())
        if self.records.recording is not None:
            self.records.has_ended()
