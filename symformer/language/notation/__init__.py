"""The display tree and the emitters that print it: plain code, text for people, LaTeX and Typst."""
