"""A class: one server for many students, as JupyterHub is one. `wanlab web --class FOLDER`.

    browsers --> hub: who is it? --connection--> a process per student: laboratory, networks

roster          students, their tokens, folders and limits      messages   between the two
seats           the students: who is there, what runs           teacher    the teacher's page
hub             a process for each student
front           hands each connection to the student's process  server     start and end
student_server  the process of a student                        sandbox    what it may read and write
"""
