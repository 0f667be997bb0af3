"""Chromium without a window, told what to do through its debugging pipe: keys, prints and questions to the page."""
import base64
import json
import os
import shlex
import subprocess
import time

KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " ")}


class Browser:
    """A page at an address; `with` closes it."""

    def __init__(self, url, folder):
        commands, to_browser = os.pipe()
        from_browser, answers = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   f"--user-data-dir={folder}/chromium_keys"]
        self.process = subprocess.Popen(["bash", "-c", f"exec {shlex.join(command)} 3<&{commands} 4>&{answers}"],
                                        pass_fds=[commands, answers], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.to_browser, self.from_browser = os.fdopen(to_browser, "wb"), os.fdopen(from_browser, "rb")
        self.rest, self.asked, self.session = b"", 0, None
        target = self.ask("Target.createTarget", url=url)["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.wait_for("document.readyState === 'complete'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.to_browser.close()
        self.from_browser.close()

    def ask(self, method, **params):
        """The answer to a command of Chrome's DevTools protocol; what else the browser reports is dropped."""
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        self.to_browser.write(json.dumps(message).encode() + b"\0")
        self.to_browser.flush()
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.from_browser.fileno(), 1 << 16)
                assert part, "the browser has ended"
                self.rest += part
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.asked:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def value(self, expression):
        """The value of an expression of JavaScript in the page."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)

    def press(self, key):
        code, text = KEYS[key]
        about = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def press_until(self, expression, key="Tab", most=80):
        """Presses the key until the expression is true."""
        for _ in range(most):
            self.press(key)
            if self.value(expression):
                return
        raise AssertionError(f"{most} times {key}, and never true: {expression}")

    def printed(self):
        """The page as a PDF, on the paper that its style asks for."""
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])
