"""The version of wanlab, which records contain."""

VERSION = "0.2.0"
