# The service: docker build -t driftbandits . && docker run -p 8000:8000 -v driftbandits:/data driftbandits
#
# BASE can be pinned, so that a build of next year starts from the same bytes; docs/operations.md has the command.
ARG BASE=python:3.11-slim
FROM ${BASE} AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /app \
    && /app/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,postgres]'

FROM ${BASE}
RUN useradd --system --create-home --uid 10001 driftbandits \
    && mkdir --parents /data /compiled \
    && chown driftbandits /data /compiled
COPY --from=build /app /app
# By its number: Kubernetes can't tell from a name that it is not root's.
USER 10001
ENV PATH=/app/bin:$PATH NUMBA_CACHE_DIR=/compiled PYTHONDONTWRITEBYTECODE=1 \
    DRIFTBANDITS_HOST=0.0.0.0 DRIFTBANDITS_PORT=8000 DRIFTBANDITS_STORE=sqlite:////data/driftbandits.db
# The default policy is compiled here, so that a container is ready in seconds. Other policies are compiled when first used.
RUN python -c "from driftbandits.service.core.warming import compile_default; compile_default()"
WORKDIR /data
# Both are written to, so everything else can be read-only.
VOLUME /data /compiled
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=7s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['DRIFTBANDITS_PORT'] + '/readyz', timeout=6)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["driftbandits"]
CMD ["serve"]
