"""The course beside the laboratory: lessons, their steps, and how far a student is.

lessons        the open unit              lesson_page    its text and steps for the page
lesson_steps   typed for the student      canvas_steps   done in the editor
step_watch     marks what is done: step_progress in terminals, canvas_progress on the canvas
mistakes       what a wrong command needs      unit_progress   a student's file
unit_reports   reports of whole units          hand_ins   to the teacher of a class
"""
