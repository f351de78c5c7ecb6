#!/usr/bin/env python3
"""boxsum verify over the cases of summed area tables: ten seconds, a minute under sanitizers, which leave it out."""

import json

from boxsum_cli import CliTest, main


class Verify(CliTest):
    def test_json(self):
        listed = json.loads(self.boxsum("verify", "--algorithm", "reference", "--json"))
        self.assertEqual([(v["operation"], v["name"], v["backend"], v["result"], v["failed"]) for v in listed],
                         [("sat", "reference", "cpu", "pass", 0)])
        self.assertGreater(listed[0]["passed"], 100)


if __name__ == "__main__":
    main()
