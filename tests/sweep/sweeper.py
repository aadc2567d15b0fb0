"""A sweep in a process of its own, which tells of every change: `sweeper.py OUTPUT [SCHEDULER]`."""

import sys
from pathlib import Path

from wanlab import Sweep
from wanlab.experiments import SweepProgress, load_experiment


def main() -> None:
    output, *rest = sys.argv[1:]
    experiment = load_experiment(Path(__file__).with_name("losses.py"))

    def tell(state: SweepProgress) -> None:
        print(state.finished, state.failed, state.event, flush=True)

    sweep = Sweep(experiment, output=output)
    sweep.run(uses_cache=False, scheduler=rest[0] if rest else "", progress=tell)


if __name__ == "__main__":
    main()
