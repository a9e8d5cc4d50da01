"""Tests of mipselect, its back ends and the papers; README.md says where what is tested."""
