"""Input that nobody means, to all that takes input from outside: ten thousand of each, drawn from seeds.

``python -m soak.fuzz`` (with ``PYTHONPATH=tests``) gives them and prints a line for each target; ``.ci/run`` takes a
hundredth. An input is accepted, or refused in one line; anything else is a defect: another exception, more than ten
seconds or four gigabytes, a file changed outside the folder that was given, a process started. A pickle that was opened
would show as a folder that is made.
"""
