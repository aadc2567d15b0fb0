"""Measuring: samplers that say when to read, and pure parsers that understand what was read."""

from . import iperf3, iperf3_text, ping
from .sampler import Flows, Queues, Sampler, Sampling, sample

__all__ = ["Flows", "Queues", "Sampler", "Sampling", "iperf3", "iperf3_text", "ping", "sample"]
