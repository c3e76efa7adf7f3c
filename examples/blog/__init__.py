"""A blog whose drafts an AI agent may tend, and whose posts only a person lets out.

``tools.py`` is what a team writes with remit: read that first. ``drafts.py`` is a store like any
other, ``naive.py`` the same tool without remit, and ``demo.py`` the story of the two.
"""

from examples.blog.tools import blog

__all__ = ["blog"]
