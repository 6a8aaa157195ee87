"""A local server in the shape of OpenAI's and of Anthropic's API, which answers as it is told."""

import http.server
import json
import threading
import time


def event(data, name=None):
    return (f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def openai_stream(text, refusal=None):
    def chunk(**more):
        return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], **more}

    out = []
    for part in (text[:5], text[5:]) if text else ():
        out.append(event(chunk(choices=[{"index": 0, "delta": {"content": part}, "finish_reason": None}])))
    if refusal:
        out.append(event(chunk(choices=[{"index": 0, "delta": {"refusal": refusal}, "finish_reason": None}])))
    out.append(event(chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])))
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return "".join([*out, event(chunk(usage=usage)), event("[DONE]")])


def anthropic_stream(text, refusal=None):
    reason = "refusal" if refusal else "end_turn"
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 1},
    }  # fmt: skip
    out = [event({"type": "message_start", "message": message}, "message_start")]
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    out.append(event(block, "content_block_start"))
    for part in (text[:5], text[5:]):
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
        out.append(event(delta, "content_block_delta"))
    out.append(event({"type": "content_block_stop", "index": 0}, "content_block_stop"))
    delta = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 7}}
    out.append(event(delta, "message_delta"))
    return "".join([*out, event({"type": "message_stop"}, "message_stop")])


STREAMS = {"openai": openai_stream, "anthropic": anthropic_stream}


class ModelServer:
    """Answers requests with `script`, in its order: text, or (status, body), or a number of seconds to
    wait. A function is given the prompt and returns one of these, again and again."""

    def __init__(self, provider, script):
        self.provider, self.script, self.requests = provider, script, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})
                answer = outer.next(body["messages"][0]["content"])
                if isinstance(answer, (int, float)):
                    time.sleep(answer)
                    return
                status, text = answer if isinstance(answer, tuple) else (200, STREAMS[provider](answer))
                self.send_response(status)
                kind = "text/event-stream" if status == 200 else "application/json"
                self.send_header("Content-Type", kind)
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def next(self, prompt):
        return self.script(prompt) if callable(self.script) else self.script.pop(0)

    def environment(self):
        """What points the SDK here."""
        if self.provider == "openai":
            return {"OPENAI_BASE_URL": self.address + "/v1", "OPENAI_API_KEY": "sk-openai-test-key"}
        return {"ANTHROPIC_BASE_URL": self.address, "ANTHROPIC_API_KEY": "sk-anthropic-test-key"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
