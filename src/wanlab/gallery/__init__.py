"""The gallery: published figures, run again.

    unit          a folder: an experiment, published points, predictions with bands, a page
    unit_file     reads such a folder
    measurement   the results of a sweep of the unit's experiment, with confidence intervals
    judgement     predictions against the measurement: agrees, differs because, not reproduced
    figure        published points and ours in one figure
    cost          the processor time of a full design, estimated from that of the quick one
    wrapping      the prose of a page in lines of at most 100 columns
    pages         the pages of units and their index, in Markdown

`wanlab reproduce` is the command line of all of it. The folders are in `units`.
"""
