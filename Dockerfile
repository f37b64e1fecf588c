# The service: docker build -t driftbandits . && docker run -p 8000:8000 -e DRIFTBANDITS_STORE=... driftbandits
FROM python:3.11-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /app \
    && /app/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,postgres]'

FROM python:3.11-slim
RUN useradd --system --create-home --uid 10001 driftbandits
COPY --from=build --chown=driftbandits /app /app
USER driftbandits
# What is compiled once is kept with the image, so that a container starts in seconds.
RUN /app/bin/python -c "import driftbandits as db; s = db.Session(arms=['a', 'b']); s.tell(s.ask().id, 0.5)"
WORKDIR /data
ENV PATH=/app/bin:$PATH DRIFTBANDITS_HOST=0.0.0.0 DRIFTBANDITS_STORE=sqlite:////data/driftbandits.db
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["driftbandits"]
CMD ["serve"]
