"""Tests of the page's parts."""
