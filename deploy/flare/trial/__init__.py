"""Tests of the deployment on FLARE: a consortium on this machine, with real kits, over loopback."""
