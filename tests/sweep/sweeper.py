"""Run a sweep and print every change of its progress: `sweeper.py OUTPUT [SCHEDULER]`."""

import sys
from pathlib import Path

from wanlab import Sweep
from wanlab.experiments import SweepProgress, load_experiment


def main() -> None:
    output, *rest = sys.argv[1:]
    experiment = load_experiment(Path(__file__).with_name("losses.py"))

    def show(state: SweepProgress) -> None:
        print(state.finished, state.failed, state.event, flush=True)

    sweep = Sweep(experiment, output=output)
    sweep.run(uses_cache=False, scheduler=rest[0] if rest else "", progress=show)


if __name__ == "__main__":
    main()
