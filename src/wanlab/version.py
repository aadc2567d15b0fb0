"""The version of wanlab, as records carry it."""

VERSION = "0.2.0"
