"""Measurements in the running network: live curves, records and captures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wanlab import Capture, Network, Sampling
from wanlab.errors import WanlabError
from wanlab.shared_folder import SharedFolder

from ..broadcast import Broadcast, Browser
from ..folder import WorkingFolder
from ..protocol import commands, messages
from ..running.session import NetworkSession
from .records import Recorder, Records

if TYPE_CHECKING:
    from .curves import Curves


WHOLE_PACKET = 262_144

Result = TypeVar("Result")


@dataclass(frozen=True)
class BegunCapture:
    """A capture that is being written to a file."""

    sampling: Sampling
    capture: Capture
    file: Path


class Measurements:
    """Carries out the commands for curves, records and captures.

    `document_name` returns the name of the document, for the provenance of records.
    """

    def __init__(
        self,
        folder: WorkingFolder,
        broadcast: Broadcast,
        session: NetworkSession,
        document_name: Callable[[], str],
    ) -> None:
        self._document_name = document_name
        self._folder = folder
        self._broadcast = broadcast
        self._session = session
        self.records = Records(folder, broadcast.push)
        self._curves: Curves | None = None
        self._captures: dict[str, BegunCapture] = {}

    # -- in the network's thread ------------------------------------------------------------------

    def begin(self, network: Network) -> None:
        """Begin to sample the network, which has started."""
        from .curves import Curves  # loads numpy: only when a network runs

        branch = self._session.branch
        assert branch is not None
        self._curves = Curves(network, self._push_samples, branch.memory, branch.events.add_drops)
        series = [one for browser in self._broadcast.browsers for one in browser.series]
        self._curves.watch(series)

    def collect(self, network: Network) -> None:
        """Send new samples to the browsers."""
        if self._curves is not None:
            self._curves.collect()
        for begun in tuple(self._captures.values()):
            begun.sampling.sample()
            begun.capture.flush()

    # -- curves -----------------------------------------------------------------------------------

    async def watch(self, browser: Browser, command: commands.WatchCommand) -> None:
        """Sample from now on the quantities that a browser draws."""
        browser.series = command.series
        await self.update_curves()

    async def update_curves(self) -> None:
        """Send browsers the quantities that at least one of them draws."""
        series = [one for browser in self._broadcast.browsers for one in browser.series]
        await self._with_curves(lambda curves: curves.watch(series))

    async def history(
        self, command: commands.HistoryCommand, by: str = ""
    ) -> tuple[messages.SampleColumn, ...]:
        """Return the samples of the last minutes."""
        return await self._with_curves(lambda curves: curves.history(command.series)) or ()

    async def _with_curves(self, use: Callable[[Curves], Result]) -> Result | None:
        if not self._session.is_running:
            return None

        def call(network: Network) -> Result | None:
            return use(self._curves) if self._curves is not None else None

        return await self._session.in_network(call)

    def _push_samples(self, samples: messages.SamplesPush) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._session.loop.call_soon_threadsafe(self._broadcast.push, samples)

    # -- records ----------------------------------------------------------------------------------

    async def record(self, command: commands.RecordCommand, by: str = "") -> str:
        """Start recording, or stop and write the record; return its name."""
        if command.on:
            self._session.network_worker()
            name = self.records.begin(command.name)
            document_name = self._document_name()
            recorder = await self._session.in_network(
                lambda network: Recorder(network, document_name)
            )
            self.records.set_recorder(name, recorder)
            return name
        recorder = self.records.recorder

        try:
            return self.records.keep(await self._session.in_network(recorder.end))
        finally:
            self.records.end()

    def compare(self, command: commands.CompareCommand, by: str = "") -> messages.Comparison:
        """Return the same quantities of several records."""
        return self.records.compare(command.records)

    def delete_record(self, command: commands.DeleteRecordCommand, by: str = "") -> None:
        """Delete a record."""
        self.records.delete(command.name)

    # -- captures ---------------------------------------------------------------------------------

    def captures_snapshot(self) -> messages.CapturesPush:
        """Return the ports that are being captured."""
        return messages.CapturesPush(ports=tuple(self._captures))

    async def capture(self, command: commands.CaptureCommand, by: str = "") -> messages.CaptureFile:
        """Start capturing the packets of a port, or stop; return the path of the file."""
        port = command.port
        if command.on == (port in self._captures):
            raise WanlabError(f"{port} is {'already' if command.on else 'not'} being captured")
        if not command.on:
            begun = self._captures.pop(port)
            await self._session.in_network(lambda network: begun.sampling.end())
        else:
            begun = await self._session.in_network(self._begin_capture(command))
            self._captures[port] = begun
        self._broadcast.push(self.captures_snapshot())
        path = self._folder.path_of(begun.file)
        self._broadcast.push(messages.FilesPush(paths=(path,)))
        return messages.CaptureFile(path)

    def _begin_capture(self, command: commands.CaptureCommand) -> Callable[[Network], BegunCapture]:
        port, snaplen = command.port, command.snaplen or WHOLE_PACKET

        def begin(network: Network) -> BegunCapture:
            for one in filter(None, (port, command.arrival)):
                network.port(one)
            names = (f"{port}{f'-{n}' if n else ''}.pcapng" for n in range(10_000))
            folder = SharedFolder(network.folder)
            file = network.folder / next(name for name in names if not folder.exists(name))
            ports = (port, command.arrival) if command.arrival else (port,)
            capture = Capture(*ports, file=file, filter=command.filter, snaplen=snaplen)
            sampling = Sampling(network, [capture])
            sampling.begin()
            return BegunCapture(sampling, capture, file)

        return begin

    def end(self) -> None:
        """Forget the network, which is gone."""
        self._curves = None
        self._captures.clear()
        self._broadcast.push(self.captures_snapshot())
        if self.records.recording is not None:
            self.records.end()
