"""Tests in a browser without a window; they are not run where there is none, and say so."""
