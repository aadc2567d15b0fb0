"""The document that browsers draw: its edits, its file, and advice about it. No network runs here.

document   edits and undo     editor      the document and its file    drafts   unsaved work
addressing    addresses for a drawing     drawing_advice    what a valid drawing may lack
option_names  options in messages         link_changes, drawn_settings   changes as edits
"""
