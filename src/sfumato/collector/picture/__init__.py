"""What a survey's reports say so far: figures for a program, and a page for people."""
