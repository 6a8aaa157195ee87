"""Asks a model of a provider's API: the prompt on standard input, one JSON object on standard output.

    python -m fact.agent_client openai MODEL        any server with OpenAI's API: OPENAI_BASE_URL
    python -m fact.agent_client anthropic MODEL
    python -m fact.agent_client check PROVIDER      says what has to be set up first, if anything

The object has "text", "tokens_in" and "tokens_out", or "error". Keys come from the environment
(OPENAI_API_KEY, ANTHROPIC_API_KEY) and go nowhere else. The caller decides what to ask and what to
do with an answer.
"""

import importlib.util
import json
import os
import sys

from fact._errors import BadInput, print_error

LONGEST = 8192  # tokens of an answer
PATIENCE = 240.0  # seconds for one request, below what the caller waits
RETRIES = 4  # by the SDKs, after rate limits, failures of the server and broken connections


def openai_client():
    import openai

    # Local servers often need no key, but the SDK requires one.
    key = os.environ.get("OPENAI_API_KEY") or ("none" if os.environ.get("OPENAI_BASE_URL") else None)
    return openai.OpenAI(api_key=key, timeout=PATIENCE, max_retries=RETRIES)


def of_openai(model, prompt):
    stream = openai_client().chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": prompt}],
        stream=True,
        stream_options={"include_usage": True},
    )
    text, refusal, usage = [], [], None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices[:1]:
            text.append(choice.delta.content or "")
            refusal.append(getattr(choice.delta, "refusal", None) or "")
    if not "".join(text) and "".join(refusal):
        return {"error": "the model refused: " + "".join(refusal)}
    return answer("".join(text), usage and usage.prompt_tokens, usage and usage.completion_tokens)


def anthropic_client():
    import anthropic

    client = anthropic.Anthropic(timeout=PATIENCE, max_retries=RETRIES)
    # Without a key the SDK complains only when it is asked something.
    if not any(getattr(client, name, None) for name in ("api_key", "auth_token", "credentials")):
        raise ValueError("no key")
    return client


def of_anthropic(model, prompt):
    with anthropic_client().messages.stream(
        model=model, max_tokens=LONGEST, messages=[{"role": "user", "content": prompt}]
    ) as stream:
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    if message.stop_reason == "refusal":
        return {"error": "the model refused" + (": " + text if text else "")}
    return answer(text, message.usage.input_tokens, message.usage.output_tokens)


def answer(text, tokens_in, tokens_out):
    if not text:
        return {"error": "the model answered nothing"}
    counted = {"tokens_in": tokens_in, "tokens_out": tokens_out}
    return {"text": text, **{name: count for name, count in counted.items() if count is not None}}


PROVIDERS = {"openai": of_openai, "anthropic": of_anthropic}
CLIENTS = {"openai": openai_client, "anthropic": anthropic_client}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
OTHERWISE = {"openai": ", or OPENAI_BASE_URL to the address of a server that needs no key", "anthropic": ""}


def what_is_missing(provider):
    """What has to be set up before the provider can be asked; "" if nothing. Nothing is sent."""
    if importlib.util.find_spec(provider) is None:
        return f"the package {provider} is not installed: pip install {provider} (into {sys.executable})"
    if os.environ.get(KEYS[provider]):
        return ""
    try:
        CLIENTS[provider]()  # the SDK may know other ways to sign in
    except ImportError as error:
        return f"the package {provider} cannot be imported: {error}"
    except Exception:
        return f"there is no key for {provider}: set {KEYS[provider]} to yours{OTHERWISE[provider]}"
    return ""


def ask(provider, model, prompt):
    if missing := what_is_missing(provider):
        return {"error": missing}
    try:
        return PROVIDERS[provider](model, prompt)
    except Exception as error:  # anything that an SDK raises means that there is no answer
        return {"error": f"{type(error).__name__}: {error}"}


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "check" and arguments[1] in PROVIDERS:
        if missing := what_is_missing(arguments[1]):
            print_error(BadInput(missing))
            return 2
        return 0
    if len(arguments) != 2 or arguments[0] not in PROVIDERS:
        print(__doc__, file=sys.stderr)
        return 2
    print(json.dumps(ask(*arguments, sys.stdin.read())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
