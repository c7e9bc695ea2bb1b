"""What experiments share: tasks, training, seeds, words. An experiment is rerun with the files it imports."""
