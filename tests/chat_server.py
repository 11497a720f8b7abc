"""A server with OpenAI's chat API on loopback, whose model adds a few words, and which fails as it is told."""

import contextlib
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEGINNINGS = ("Well, ", "As you know, ", "In short, ", "To be sure, ", "Frankly, ", "Now then, ")
MODEL = "little"


def said(body):
    """What the model replies: to a text in JSON several, to a plain prompt one with its last line."""
    content, seed = body["messages"][-1]["content"], body.get("seed", 0)
    try:
        text = json.loads(content)["text"]
    except ValueError:
        return f"Here is a paraphrase:\n\n{BEGINNINGS[seed % 3]}{content.splitlines()[-1]}"
    first = seed % len(BEGINNINGS)
    outputs = [BEGINNINGS[(first + n) % len(BEGINNINGS)] + text for n in range(3)]
    return json.dumps({"paraphrases": outputs}, ensure_ascii=False)


class ChatServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        asked: The bodies of all requests to the model, in their order.
        faults: By number of a request to the model, from 0 on, what goes wrong with it.
        keys: The Authorization headers that came.
        running, most: Requests under way, and the most at a time.
        files, batches: Of the batch API.
        batch_status: What a batch is when somebody asks.
    """

    daemon_threads = True

    def __init__(self, faults=None, say=said, delay=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.keys, self.times = [], Counter(), []
        self.faults, self.say, self.delay = dict(faults or {}), say, delay
        self.running = self.most = 0
        self.lock = threading.Lock()
        self.files, self.batches, self.batch_status = {}, {}, "in_progress"
        self.every, self.knows_models = None, True  # a fault of every request; whether it says which models it has

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


def completion(body, say, finish="stop"):
    message = {"role": "assistant", "content": say(body)}
    usage = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def send(self, status, content, headers=(), kind="application/json"):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.server.keys[self.headers.get("Authorization")] += 1
        path = self.path.partition("?")[0].removeprefix("/v1/")
        if path == "models" and self.server.knows_models:
            return self.send(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "me"}]})
        if path == "batches":
            return self.send(200, {"object": "list", "data": [self.batch(name) for name in self.server.batches]})
        if path.startswith("batches/"):
            return self.send(200, self.batch(path.split("/")[1]))
        if path.startswith("files/"):
            return self.send(200, self.server.files[path.split("/")[1]], kind="application/octet-stream")
        return self.send(404, {"error": {"message": f"no {path}"}})

    def batch(self, name):
        batch = self.server.batches[name]
        is_complete = self.server.batch_status == "completed"
        return batch | {"status": self.server.batch_status, "output_file_id": f"out-{name}" if is_complete else None}

    def do_POST(self):
        server = self.server
        server.keys[self.headers.get("Authorization")] += 1
        data = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.removeprefix("/v1/")
        if path == "files":
            content = data.split(b"\r\n\r\n")[2 if data.index(b"purpose") < data.index(b"jsonl") else 1]
            name = f"file-{len(server.files)}"
            server.files[name] = content.rpartition(b"\r\n--")[0].partition(b"\r\n--")[0]
            return self.send(200, {"id": name, "object": "file", "bytes": 1, "created_at": 1, "filename": "f",
                                   "purpose": "batch", "status": "processed"})  # fmt: skip
        if path == "batches":
            return self.new_batch(json.loads(data))
        body = json.loads(data)
        with server.lock:
            number = len(server.asked)
            server.asked.append(body)
            server.times.append(time.monotonic())
            server.running += 1
            server.most = max(server.most, server.running)
        try:
            self.answer(body, server.faults.get(number, server.every))
        finally:
            with server.lock:
                server.running -= 1

    def new_batch(self, request):
        server, name = self.server, f"batch-{len(self.server.batches)}"
        lines = [json.loads(line) for line in server.files[request["input_file_id"]].splitlines() if line.strip()]
        server.asked += [line["body"] for line in lines]
        server.batches[name] = {"id": name, "object": "batch", "endpoint": request["endpoint"], "created_at": 1,
                                "input_file_id": request["input_file_id"], "completion_window": "24h",
                                "metadata": request.get("metadata"), "errors": None, "error_file_id": None}  # fmt: skip
        responses = [{"status_code": 200, "body": completion(line["body"], server.say)} for line in lines]
        answers = [
            {"custom_id": line["custom_id"], "error": None, "response": response}
            for line, response in zip(lines, responses, strict=True)
        ]
        server.files[f"out-{name}"] = b"".join(
            json.dumps(answer, ensure_ascii=False).encode() + b"\n" for answer in answers
        )
        self.send(200, self.batch(name))

    def answer(self, body, fault):
        time.sleep(self.server.delay)
        whole = json.dumps(completion(body, self.server.say)).encode()
        if fault is None:
            return self.send(200, whole)
        if callable(fault):
            return fault(self, body)
        if isinstance(fault, int):
            return self.send(fault, {"error": {"message": f"fault {fault}", "type": "server_error"}})
        if fault == "half":  # of the body, then the connection is closed
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole[: len(whole) // 2])
        elif fault == "slow":  # a byte now and then
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            with contextlib.suppress(OSError):
                for byte in whole:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(0.2)
        elif fault == "silent":
            time.sleep(30)
        elif fault == "wrong json":
            return self.send(200, b'{"choices": [{"mess')
        elif fault == "html":
            return self.send(200, b"<html>busy</html>", kind="text/html")
        elif fault == "empty choices":
            return self.send(200, {"choices": [], "object": "chat.completion"})
        elif fault == "refusal":
            return self.send(200, completion(body, lambda body: "I'm sorry, but I can't help with that."))
        elif fault == "filtered":
            return self.send(400, {"error": {"message": "flagged", "code": "content_filter"}})
        elif fault == "closed":
            pass
        self.close_connection = True


@contextlib.contextmanager
def chat_server(**options):
    """A running server."""
    server = ChatServer(**options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
