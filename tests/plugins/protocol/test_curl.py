from __future__ import annotations

import subprocess
import sys


def test_without_pycurl_the_other_transport_is_named() -> None:
    program = (
        "import sys; sys.modules['pycurl'] = None\n"
        "from nutchpy.core.errors import PluginError\n"
        "from nutchpy.extension import registry\n"
        "try: registry.load('protocol', 'curl')\n"
        "except PluginError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "protocol.http=requests" in done.stdout
